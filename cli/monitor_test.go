package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// openedWith opens the outputs of cg monitor with flags and settings, and closes them.
func openedWith(t *testing.T, settings string, args ...string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	command := monitorCommand()
	command.Action = func(c *cli.Context) error {
		out, err := openMonitorOutputs(c, "")
		if err == nil {
			out.close()
		}
		return err
	}
	configure(command)
	app := &cli.App{Commands: []*cli.Command{command}, ExitErrHandler: func(*cli.Context, error) {}}
	return app.Run(append([]string{"cg", "monitor", "--config", file}, args...))
}

// Settings for a use of cg monitor do not hinder the others; flags that have no effect are
// errors.
func TestSettingsOfOtherUses(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"max-labels", "50", "--max-labels is for --serve, --textfile and --otlp"},
		{"socket-group", "\"root\"", "--socket-group is for --socket"},
		{"mqtt-qos", "0", "--mqtt-qos is for --mqtt"},
		{"mqtt-prefix", "\"a\"", "--mqtt-prefix is for --mqtt"},
		{"rotate", "\"1MB\"", "--rotate is for --jsonl"},
	} {
		if err := openedWith(t, "[monitor]\n"+test.name+" = "+test.value+"\n"); err != nil {
			t.Errorf("%s in a file: %v", test.name, err)
		}
		err := openedWith(t, "", "--"+test.name, strings.Trim(test.value, "\""))
		if err == nil || err.Error() != test.want {
			t.Errorf("--%s: %v, want %q", test.name, err, test.want)
		}
	}
	rows := filepath.Join(t.TempDir(), "rows")
	if err := openedWith(t, "[monitor]\nrotate = \"much\"\n", "--jsonl", rows); err == nil {
		t.Error("a size that is none is taken from a file")
	}
}

// Outputs that are one file are an error before anything is opened.
func TestOutputsThatAreOneFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	err := openedWith(t, "", "-o", name, "--jsonl", name, "--textfile", dir)
	if left, _ := os.ReadDir(dir); err == nil || !strings.Contains(err.Error(), "both write to") || len(left) > 0 {
		t.Errorf("%v; %v is left", err, left)
	}
}
