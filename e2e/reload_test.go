package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/report/usage"
)

// A hang-up has cg monitor read its settings again, where it has no terminal. It goes on with what it
// has counted; what is wrong changes nothing; what the command line says stays.
func TestMonitorReload(t *testing.T) {
	dir := t.TempDir()
	settings, rows := filepath.Join(dir, "settings.toml"), filepath.Join(dir, "rows.jsonl")
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("[monitor]\ntop = 3\nmax-labels = 10\n")
	cmd := monitorCommand(t, "--config", settings, "-s", "estimate", "-i", "100ms", "--serve", "127.0.0.1:0", "--jsonl", rows,
		"--pid", "1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(said)
	says := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("it does not say %q", want)
	}
	says("metrics are at")
	// later waits for a row that is later than another.
	later := func(than float64) (r usage.Row) {
		t.Helper()
		for ; r.ElapsedS <= than; time.Sleep(5 * time.Millisecond) {
			b, err := os.ReadFile(rows)
			if err != nil && !os.IsNotExist(err) { // it is opened after the listener
				t.Fatal(err)
			}
			if all := strings.Split(string(b), "\n"); len(all) > 1 {
				if err := json.Unmarshal([]byte(all[len(all)-2]), &r); err != nil {
					t.Fatal(err)
				}
			}
		}
		return r
	}
	first := later(0)
	if len(first.Processes) > 3 || len(first.Targets) != 1 {
		t.Errorf("%d processes, %+v", len(first.Processes), first.Targets)
	}
	for _, test := range []struct{ settings, says string }{
		{"[monitor]\ntop = 0\nmax-labels = 1\n", "the settings were read again"},
		{"[monitor]\ntop = \"many\"\n", "the settings stay as they are: " + settings + ":2: monitor.top: "},
		{"[monitor]\ntop = -1\n", "the settings stay as they are: top: -1: use 0 or more"},
		{"[monitor]\nmqtt = \"http://host\"\n", "the settings stay as they are: mqtt: no URL of a broker"},
		{"[monitor]\ncgroup = [\"/no/such\"]\n", "the settings stay as they are: cgroup: cgroup /no/such: there is none"},
		{"[monitor]\ncgroup = [\" \"]\n", "the settings stay as they are: cgroup: it has no name"},
		{"[monitor]\ntop = 0\nmqtt = \"mqtt://127.0.0.1:1\"\n", "--mqtt: the broker does not answer"},
		{"[monitor]\ntop = 0\n", "rows were not sent"},
	} {
		set(test.settings)
		cmd.Process.Signal(unix.SIGHUP)
		says(test.says)
	}
	after := later(later(0).ElapsedS)
	if len(after.Processes) != 0 || len(after.Targets) != 1 || after.ElapsedS <= first.ElapsedS || *after.Total.EnergyJ <= *first.Total.EnergyJ {
		t.Errorf("%d processes, %+v, %v s after %v s", len(after.Processes), after.Targets, after.ElapsedS, first.ElapsedS)
	}
	cmd.Process.Signal(unix.SIGTERM)
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
