package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/events"
	"cg/nemb/simulate"
	"cg/report"
	"cg/version"
)

// savedFiles are files as each version of cg wrote them, a folder for each version. Those of a
// version that was released never change. -update makes those of this version.
const savedFiles = "testdata/saved"

// savedProgram is what is measured for them.
const savedProgram = `import time

def once(n):
    end = time.process_time() + n * 0.001
    while time.process_time() < end:
        pass

def many():
    for i in range(40):
        once(2)

many()
`

// savedSession is a session for them.
const savedSession = `import time
import codegreen
with codegreen.Session("kept", record_time_series=True, output_file="session.json") as s:
    with s.task("outer"):
        with s.task("inner"):
            time.sleep(0.1)
`

// reads are commands that read the files of a version, from its folder, and what they say on
// standard output.
var reads = []struct{ args, says string }{
	{"verify run.json cluster.json session.json ranks", "session.json: everything agrees"},
	{"report run.json", "once"},
	{"report run.json -f perfetto --events run" + events.Extension, "traceEvents"},
	{"report run.json -f csv --table samples", "package-0"},
	{"report repeat.json", "once"},
	{"report runs.json", "Runs"},
	{"report session.json", "inner"},
	{"report cluster.json", "2 ranks"},
	{"report ranks", "2 ranks"},
	{"merge ranks -o -", `"tool":"cg merge"`},
	{"compare run.json repeat.json", "many"},
	{"compare runs.json runs-later.json", "program"},
	{"report --from hespas events.json", "measured"},
	{"report gate.json", "Verdict"},
	{"report baseline.json", "per run, median of"},
	{"report gate.json -f junit", "<testsuite"},
	{"report comparison.json", "program"},
	{"report monitor.json", "power"},
	{"report monitor.json -f csv", "energy_j"},
	{"track merge track/cg_20ms.csv", "cg_20ms"},
	{"track merge track/cg_40ms.jsonl", "cg_40ms"},
}

// What an earlier cg wrote is read, checked and shown, and keeps its figures.
func TestReadsSavedFiles(t *testing.T) {
	t.Parallel()
	if *update {
		saveFiles(t, filepath.Join(savedFiles, version.Cg))
	}
	versions, err := os.ReadDir(savedFiles)
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	for _, v := range versions {
		dir := filepath.Join(savedFiles, v.Name())
		read := map[string]bool{}
		for _, r := range reads {
			args := strings.Fields(r.args)
			for _, a := range args {
				read[a] = true
			}
			cmd := exec.Command(cg, args...)
			cmd.Dir = dir
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), r.says) {
				t.Errorf("%s: cg %s: %v\n%s%s", v.Name(), r.args, err, out, &stderr)
			}
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !read[f.Name()] {
				t.Errorf("%s/%s is read by no command of this test", dir, f.Name())
			}
		}
		keepsFigures(t, filepath.Join(dir, "run.json"))
	}
}

// keepsFigures compares totals and functions of a run as it was saved with those that are written anew.
func keepsFigures(t *testing.T, name string) {
	t.Helper()
	type figures struct {
		Totals struct {
			EnergyJ  float64 `json:"energy_j"`
			Duration float64 `json:"duration_s"`
		} `json:"totals"`
		Functions []struct {
			Name  string  `json:"name"`
			Self  float64 `json:"self_energy_j"`
			Calls uint64  `json:"calls"`
		} `json:"functions"`
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var was, is figures
	for b, into := range map[*[]byte]*figures{&text: &was, &again: &is} {
		if err := json.Unmarshal(*b, into); err != nil {
			t.Fatal(err)
		}
	}
	if was.Totals != is.Totals || was.Totals.EnergyJ == 0 || len(was.Functions) < 3 || len(was.Functions) != len(is.Functions) {
		t.Fatalf("%s: %+v, and written anew %+v", name, was, is)
	}
	for i := range was.Functions {
		if was.Functions[i] != is.Functions[i] {
			t.Errorf("%s: %+v, and written anew %+v", name, was.Functions[i], is.Functions[i])
		}
	}
}

// saveFiles makes the files of this version of cg, on a machine of 20 W.
func saveFiles(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	mounted := t.TempDir()
	tree, err := simulate.Mount(mounted, simulate.Machine{Zones: []simulate.Zone{{Dir: "intel-rapl:0", Name: "package-0", Counter: counter(20)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	work := t.TempDir()
	for name, text := range map[string]string{"work.py": savedProgram, "session.py": savedSession} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -e
hostname kept
cg sdk python sdk >/dev/null
cg measure -g fine -o run.json --events run` + events.Extension + ` work.py
cg measure -g fine -o repeat.json --repeat 3 work.py
cg run -n 3 -w 0 -o runs.json -- python3 work.py
cg run -n 3 -w 0 -o runs-later.json -- python3 work.py
cg report run.json -f hespas -o events.json
PYTHONPATH=sdk cg run -n 1 -w 0 -- python3 session.py
for rank in 0 1; do
  CG_NODE=n0 CG_NODE_DIR=$PWD/shm CG_RANK=$rank CG_SIZE=2 cg measure --ranks ranks work.py &
done
wait
cg merge ranks -o cluster.json
cg compare runs.json runs-later.json -o comparison.json
unshare --pid --fork --mount-proc cg monitor -d 0.5 -i 100ms -o monitor.json
cg track --tracker 20ms,estimate --duration 0.5 -o track
cg track --tracker 40ms,estimate --duration 0.5 --format jsonl -o track
git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m base
cg gate --save baseline.json --metric cpu-time --max-pairs 6 -- python3 -c 'sum(range(100000))'
cg gate --base HEAD --metric cpu-time --max-pairs 6 --inconclusive pass -o gate.json -- python3 -c 'sum(range(100000))'
rm -rf .git
rm -r sdk shm work.py session.py
cp -r . "$0"
`
	if err := os.Mkdir(filepath.Join(work, "shm"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-r", "--uts", "sh", "-c", script, root)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "CG_SYSROOT="+mounted, "PATH="+os.Getenv("CG_TEST_BIN")+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
