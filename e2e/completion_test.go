package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// completions are command lines and some of what a shell offers for the last word. A word with ! in
// front is not offered.
var completions = []struct{ line, want string }{
	{"cg mea", "measure"},
	{"cg ", "measure gate completion !loa"},
	{"cg measure --granul", "--granularity"},
	{"cg measure -g ", "coarse fine !measure"},
	{"cg --sysroot measure g", "gate !go"},
	{"cg measure --precision h", "high"},
	{"cg track --format w", "wattameter !html"},
	{"cg report --format htm", "html"},
	{"cg track mer", "merge"},
	{"cg track merge --st", "--step"},
	{"cg run --st", "--stdin !--step"},
	{"cg help estim", "estimated"},
	{"cg sdk py", "python"},
	{"cg report ru", "run.json !run"},
	{"cg measure -o ru", "run.json"},
	{"cg completion f", "fish"},
}

// asker makes one shell say what it offers for each of some command lines.
type asker func(t *testing.T, script, dir string, lines []string) [][]string

// TestCompletion runs the scripts of cg completion in their shells.
func TestCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]asker{"bash": askBash, "zsh": askZsh, "fish": askFish} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			text, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "completion", shell).Output()
			if err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(t.TempDir(), "cg."+shell)
			if err := os.WriteFile(script, text, 0o644); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, c := range completions {
				lines = append(lines, c.line)
			}
			for i, got := range ask(t, script, dir, lines) {
				for _, want := range strings.Fields(completions[i].want) {
					name, not := strings.CutPrefix(want, "!")
					if slices.Contains(got, name) == not {
						t.Errorf("%q: got %q, want %s", lines[i], got, want)
					}
				}
			}
		})
	}
}

// runShell runs a shell in a folder, with a home that is empty.
func runShell(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// askBash calls the function as bash does, and completes files as its option default does.
func askBash(t *testing.T, script, dir string, lines []string) (out [][]string) {
	for _, line := range lines {
		out = append(out, runShell(t, dir, "bash", "--norc", "-c", `source "$1"
compopt() { :; }
read -ra COMP_WORDS <<< "$2"
[[ $2 != *" " ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_cg
[[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
printf '%s\n' "${COMPREPLY[@]}"`, "bash", script, line))
	}
	return out
}

func askFish(t *testing.T, script, dir string, lines []string) (out [][]string) {
	for _, line := range lines {
		found := runShell(t, dir, "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line)
		for i, l := range found {
			found[i], _, _ = strings.Cut(l, "\t")
		}
		out = append(out, found)
	}
	return out
}

// askZsh types each line and a tabulator on a terminal: zsh completes nothing without one. What it offers goes into
// a file, too, and Ctrl-X ends a line there.
func askZsh(t *testing.T, script, dir string, lines []string) (out [][]string) {
	home := t.TempDir()
	offered := filepath.Join(home, "offered")
	rc := fmt.Sprintf(`PROMPT='READY'
LISTMAX=100000
autoload -Uz compinit && compinit -u -D
source %s
compadd() {
  local -a found
  builtin compadd -A found "$@"
  print -rl -- $found >> %s
  builtin compadd "$@"
}
finish() { print -r -- END >> %[2]s; BUFFER=''; print NEXT > $TTY }
zle -N finish
bindkey '^X' finish
`, script, offered)
	if err := os.WriteFile(filepath.Join(home, ".zshrc"), []byte(rc), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("zsh", "-d", "-i")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "ZDOTDIR="+home, "TERM=vt100", "HISTFILE=")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	seen, typed := "", 0
	for b := make([]byte, 4096); ; {
		n, err := terminal.Read(b)
		seen += string(b[:n])
		if err != nil {
			break
		}
		if min(1, strings.Count(seen, "READY"))+strings.Count(seen, "NEXT") <= typed { // the first prompt, and each line
			continue
		}
		if typed++; typed > len(lines) {
			cmd.Process.Kill()
			break
		}
		if _, err := terminal.WriteString(lines[typed-1] + "\t\x18"); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Wait()
	text, err := os.ReadFile(offered)
	parts := strings.Split(string(text), "END\n")
	if err != nil || len(parts) != len(lines)+1 {
		t.Fatalf("%v\n%s\n%q", err, text, seen)
	}
	for _, part := range parts[:len(lines)] {
		out = append(out, strings.Split(part, "\n"))
	}
	return out
}

// Man pages are such that mandoc has nothing to say of them but their dates.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	if out, err := exec.Command(cg, "man", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "cg*.1"))
	if err != nil || len(pages) < 20 || !slices.Contains(pages, filepath.Join(dir, "cg-track-merge.1")) {
		t.Fatal(pages, err)
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	out, err := exec.Command("mandoc", append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput()
	for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if l != "" && !strings.Contains(l, "missing date") {
			t.Errorf("%s (%v)", l, err)
		}
	}
	text, err := exec.Command("mandoc", "-T", "ascii", filepath.Join(dir, "cg-measure.1")).Output()
	if err != nil || !strings.Contains(string(text), "interpreter cannot be run") {
		t.Errorf("%v\n%s", err, text)
	}
}
