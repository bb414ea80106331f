# Made by cg's release. nix run path:FOLDER, with this file as flake.nix in FOLDER
{
  description = "cg {{.About}}";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      archives = {
{{- range .Archives}}
        "{{.CPU}}-linux" = {
          url = "{{$.Downloads}}/{{.File}}";
          hash = "{{.SRI}}";
        };
{{- end}}
      };
    in {
      packages = builtins.mapAttrs (system: archive:
        let pkgs = nixpkgs.legacyPackages.${system};
        in {
          default = pkgs.stdenv.mkDerivation {
            pname = "cg";
            version = "{{.Version}}";
            src = pkgs.fetchurl archive;
            nativeBuildInputs = [ pkgs.autoPatchelfHook ];
            installPhase = "mkdir -p $out && cp -r bin share $out/";
            meta = {
              description = "cg {{.About}}";
              homepage = "{{.Repository}}";
              license = pkgs.lib.licenses.asl20;
              mainProgram = "cg";
            };
          };
        }) archives;
    };
}
