package monitor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"cg/cli/flags"
)

// openedWith opens the outputs of cg monitor with flags and with settings, by the flag, and closes them.
func openedWith(t *testing.T, settings map[string]string, args ...string) error {
	t.Helper()
	command := Command(nil)
	command.Action = func(c *cli.Context) error {
		for name, value := range settings {
			if err := c.Set(name, value); err != nil {
				t.Fatal(err)
			}
			flags.FromSettings(c, name)
		}
		out, err := openOutputs(c, "")
		if err == nil {
			out.close()
		}
		return err
	}
	app := &cli.App{Commands: []*cli.Command{command}, ExitErrHandler: func(*cli.Context, error) {}}
	return app.Run(append([]string{"cg", "monitor"}, args...))
}

// Settings for a use of cg monitor do not hinder the others; flags that have no effect are
// errors.
func TestSettingsOfOtherUses(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"max-labels", "50", "--max-labels is for --serve, --textfile and --otlp"},
		{"socket-group", "root", "--socket-group is for --socket"},
		{"mqtt-qos", "0", "--mqtt-qos is for --mqtt"},
		{"mqtt-prefix", "a", "--mqtt-prefix is for --mqtt"},
		{"rotate", "1MB", "--rotate is for --jsonl"},
	} {
		if err := openedWith(t, map[string]string{test.name: test.value}); err != nil {
			t.Errorf("%s as a setting: %v", test.name, err)
		}
		err := openedWith(t, nil, "--"+test.name, test.value)
		if err == nil || err.Error() != test.want {
			t.Errorf("--%s: %v, want %q", test.name, err, test.want)
		}
	}
	rows := filepath.Join(t.TempDir(), "rows")
	if err := openedWith(t, map[string]string{"rotate": "much"}, "--jsonl", rows); err == nil {
		t.Error("a size that is none is taken from the settings")
	}
}

// Outputs that are one file are an error before anything is opened.
func TestOutputsThatAreOneFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	err := openedWith(t, nil, "-o", name, "--jsonl", name, "--textfile", dir)
	if left, _ := os.ReadDir(dir); err == nil || !strings.Contains(err.Error(), "both write to") || len(left) > 0 {
		t.Errorf("%v; %v is left", err, left)
	}
}
