# Made by cg's release. brew install ./cg.rb
class Cg < Formula
  desc "{{.About}}"
  homepage "{{.Repository}}"
  version "{{.Version}}"
  license "Apache-2.0"
  depends_on :linux
{{range .Archives}}
  on_{{if eq .Arch "amd64"}}intel{{else}}arm{{end}} do
    url "{{$.Downloads}}/{{.File}}"
    sha256 "{{.SHA256}}"
  end
{{end}}
  def install
    bin.install "bin/cg"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/cg"
    zsh_completion.install "share/zsh/site-functions/_cg"
    fish_completion.install "share/fish/vendor_completions.d/cg.fish"
    doc.install Dir["share/doc/cg/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cg --version")
  end
end
