package e2e

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sdkShare is the program's share of an energy in a session's file.
type sdkShare struct {
	Program   *float64 `json:"program_energy_j"`
	ProgramLo *float64 `json:"program_energy_lo_j"`
	ProgramHi *float64 `json:"program_energy_hi_j"`
}

const sharesInPython = `
import codegreen, os, time
with codegreen.Session("scenario", output_file=os.environ["OUT"]) as s:
    with s.task("busy") as busy:
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            pass
    with s.task("waits") as waits:
        time.sleep(0.4)
    print("shares:", str(busy.program_energy_j <= busy.energy_j).lower(), str(waits.program_energy_j != waits.program_energy_j).lower())
`

// Under cg, the tasks of a session have the program's share of the machine's energy, which
// is what the run's own document has of the program; a busy neighbour has the rest. Alone,
// nothing tells a share.
func TestProgramSharesOfSessions(t *testing.T) {
	t.Parallel()
	env := append(sessionMachine(t), "PATH="+sdkPath())
	neighbour := exec.Command("sh", "-c", "while :; do :; done")
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	defer neighbour.Wait()
	defer neighbour.Process.Kill()
	programs := append(sdkPrograms(t), sdkProgram{"python", []string{python(t), "-c", sharesInPython}})
	for _, p := range programs {
		t.Run(p.lang, func(t *testing.T) {
			f, said, _ := p.scenario(t, env, "shares", nil)
			if f == nil || f.Meta.Sampler.Via != "sidecar" || f.Totals.Program != nil || f.Tasks[0].Program != nil || f.warned("share-unknown") {
				t.Fatalf("alone: %+v\n%s", f, said)
			}
			says(t, said, "shares: false true")
			sdkSharesUnderCg(t, p, env)
		})
	}
}

// sdkSharesUnderCg holds the shares of a session against the document of cg run.
func sdkSharesUnderCg(t *testing.T, p sdkProgram, env []string) {
	saved := filepath.Join(t.TempDir(), "run.json")
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	wrapped := sdkProgram{p.lang, append([]string{cg, "run", "-n", "1", "-w", "0", "--show-output", "-o", saved, "--"}, p.argv...)}
	f, said, dir := wrapped.scenario(t, env, "shares", nil)
	if f == nil || f.Meta.Sampler.Via != "run" || len(f.Tasks) != 2 || len(f.Warnings) > 0 {
		t.Fatalf("%+v\n%s", f, said)
	}
	says(t, said, "shares: true false")
	sum := 0.0
	for _, task := range f.Tasks {
		if task.Program == nil || task.ProgramLo == nil || task.ProgramHi == nil {
			t.Fatalf("%+v", task)
		}
		if *task.ProgramLo > *task.Program || *task.Program > *task.ProgramHi || *task.ProgramHi > *task.Hi || *task.Program >= *task.Energy {
			t.Errorf("%s: [%v, %v, %v] of %v", task.Name, *task.ProgramLo, *task.Program, *task.ProgramHi, *task.Energy)
		}
		sum += *task.Program
	}
	busy, waits := f.Tasks[0], f.Tasks[1]
	if *busy.Program <= 0 || *waits.ProgramLo >= *busy.ProgramHi {
		t.Errorf("busy %v, waits [%v, %v]", *busy.Program, *waits.ProgramLo, *waits.ProgramHi)
	}
	if total := f.Totals.Program; total == nil || math.Abs(*total-sum) > 1e-9 {
		t.Errorf("the tasks have %v J, the totals %v", sum, total)
	}
	var run struct {
		Measurements []struct {
			Machine *float64 `json:"energy_j"`
			Program *float64 `json:"program_energy_j"`
		}
	}
	b, err := os.ReadFile(saved)
	if err == nil {
		err = json.Unmarshal(b, &run)
	}
	if err != nil || len(run.Measurements) != 1 {
		t.Fatalf("%v: %s", err, b)
	}
	// The program ran outside its tasks, too, and used energy there.
	whole := run.Measurements[0]
	if whole.Program == nil || whole.Machine == nil {
		t.Fatalf("%s", b)
	}
	if *f.Totals.ProgramLo > *whole.Program || *f.Totals.Energy > *whole.Machine {
		t.Errorf("the session has %v (at least %v) of %v J, the run %v of %v", sum, *f.Totals.ProgramLo, *f.Totals.Energy, *whole.Program, *whole.Machine)
	}
	if outside := *whole.Machine - *f.Totals.Energy; *f.Totals.ProgramHi+outside < *whole.Program {
		t.Errorf("the session has at most %v J, the run %v, and %v outside tasks", *f.Totals.ProgramHi, *whole.Program, outside)
	}
	file := filepath.Join(dir, "session.json")
	for command, want := range map[string]string{"verify": "", "report": "the program's part of it is by processor time"} {
		out, err := exec.Command(cg, command, file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("cg %s: %v\n%s", command, err, out)
		}
	}
}
