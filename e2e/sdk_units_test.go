package e2e

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sdkUnit is what a unit of work takes.
type sdkUnit struct {
	Name   string
	Count  float64
	Energy *float64 `json:"energy_j"`
	Lo     *float64 `json:"energy_lo_j"`
	Hi     *float64 `json:"energy_hi_j"`
	PerJ   *float64 `json:"count_per_j"`
}

// sdkUnits counts 400 tokens and 2 requests in a task inside one that counts 3 requests.
func sdkUnits(t *testing.T, p sdkProgram, env []string) {
	f, said, dir := p.scenario(t, env, "units", nil)
	if f == nil || len(f.Tasks) != 2 {
		t.Fatalf("%+v\n%s", f, said)
	}
	says(t, said, "none: ", "a count is a number above 0", "not a number: ", "no word: ",
		`the unit "a b": use letters, digits, _ and -, with a letter or _ in front`, "counted: ")
	holdsUnits(t, f, filepath.Join(dir, "session.json"))
}

// holdsUnits checks the file of such a session, and what cg says of it.
func holdsUnits(t *testing.T, f *sdkFile, path string) {
	t.Helper()
	all, generate := f.Tasks[0], f.Tasks[1]
	of := func(units []sdkUnit, i int, name string, n float64, task sdkTask) {
		t.Helper()
		if i >= len(units) || units[i].Name != name || units[i].Count != n {
			t.Fatalf("unit %d of %s: %+v, want %v %s", i, task.Name, units, n, name)
		}
		u := units[i]
		if u.Energy == nil || u.PerJ == nil || task.Energy == nil {
			t.Fatalf("%s: %+v of %+v", name, u, task)
		}
		same := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*want }
		if !same(*u.Energy*n, *task.Energy) || !same(*u.Lo*n, *task.Lo) || !same(*u.Hi*n, *task.Hi) || !same(*u.PerJ**u.Energy, 1) {
			t.Errorf("%s: %v [%v, %v] J, %v/J of %v J", name, *u.Energy, *u.Lo, *u.Hi, *u.PerJ, *task.Energy)
		}
	}
	of(all.Units, 0, "request", 3, all)
	of(generate.Units, 0, "token", 400, generate)
	of(generate.Units, 1, "request", 2, generate)
	of(f.Totals.Units, 0, "request", 3, all) // those inside are in it
	of(f.Totals.Units, 1, "token", 400, generate)
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"verify", path}, ""},
		{[]string{"report", path}, "units of"},
		{[]string{"report", "-f", "markdown", path}, "| units of | unit | count |"},
		{[]string{"report", "-f", "html", "-o", "-", path}, `"units":{"1":[{"name":"request","count":3,`},
		{[]string{"compare", "--allow-different", path, copied(t, path)}, "program/token"},
	} {
		out, err := exec.Command(cg, c.args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("cg %q: %v, want %q in\n%.3000s", c.args, err, c.want, out)
		}
	}
}

// copied is the file of a session as another one: cg does not compare a session with itself.
func copied(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	at := strings.Index(text, `"run_id":`) + len(`"run_id":`)
	at += strings.Index(text[at:], `"`) + 1
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(text[:at]+"0123456789ab"+text[at+12:]), 0o600); err != nil {
		t.Fatal(err)
	}
	return other
}

// Python's sessions count units by the same rule.
func TestUnitsOfPythonSessions(t *testing.T) {
	t.Parallel()
	env, path := sessionMachine(t), filepath.Join(t.TempDir(), "session.json")
	cmd := exec.Command(python(t), "-c", `
import codegreen, sys, time
def refused(what, n, unit):
    try:
        all.count(n, unit)
    except (ValueError, TypeError) as e:
        print(what + ":", e)
with codegreen.Session("scenario", output_file=sys.argv[1]) as s:
    with s.task("all") as all:
        with s.task("generate") as t:
            time.sleep(0.06)
            t.count(300, "token")
            t.count(100, "token")
        t.count(2, "request")  # after its end
        all.count(3, "request")
        refused("none", 0, "token")
        refused("a text", "3", "token")
        refused("no word", 1, "a b")
    print("counted:", all.units)
`, path)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, string(out), "none: count: 0.0 token: a count is a number above 0", "a text: count: '3' is no number",
		"no word: count: the unit 'a b': use letters", "counted: {'request': 3.0}")
	f := readSession(t, path, string(out))
	if f == nil || len(f.Tasks) != 2 {
		t.Fatalf("%+v", f)
	}
	holdsUnits(t, f, path)
}
