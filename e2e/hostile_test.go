package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cg/report"
	"cg/report/format"
	_ "cg/report/format/all"
)

// evil is what no name should be: a formula, escape sequences, a row of its own,
// text that is turned around.
const evil = "=1+1\x1b]0;owned\x07\x1b[2J\nfake  1 J\r\u009b31m\u202egnp\x7f"

// harmless tells what in a text a terminal would obey, but for line ends, tabs
// and cg's own colours; "" if there is nothing.
func harmless(text string) string {
	text = regexp.MustCompile("\x1b\\[(0|1|2|33|36)m").ReplaceAllString(text, "")
	if !utf8.ValidString(text) {
		return "bytes that are no UTF-8"
	}
	for at, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return fmt.Sprintf("%U in %q", r, text[max(0, at-60):min(len(text), at+40)])
		}
	}
	if regexp.MustCompile(`(?m)^fake`).MatchString(text) {
		return "a row is faked"
	}
	return ""
}

// shows runs cg and wants that nothing of what it writes is obeyed by a terminal.
func shows(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if found := harmless(string(out)); found != "" {
		t.Errorf("cg %q: %s", args, found)
	}
	return string(out)
}

// poison puts evil in front of every text of a saved run but of those by which it
// is known to be one.
func poison(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			switch key {
			case "schema_version", "tool", "sha256":
				out[key] = value
			case "domains", "domain_j", "domain_w", "domain_topology", "domains_power_w":
				named := map[string]any{}
				if inner, ok := value.(map[string]any); ok {
					for id, x := range inner {
						named[evil+id] = poison(x)
					}
				}
				out[key] = named
			default:
				out[key] = poison(value)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = poison(v[i])
		}
		return v
	case string:
		return evil + v
	}
	return v
}

// A saved run whose every text is hostile, through every format and command that
// reads one; names of files and arguments are hostile, too.
func TestHostileRun(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "x"+strings.ReplaceAll(evil, "/", "")+".py")
	program := "def f():\n    return sum(range(20000))\nfor _ in range(50): f()\n"
	if err := os.WriteFile(script, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	python(t)
	shows(t, dir, "measure", "-s", "estimate", "-g", "line", "-o", "run.json", script, evil)
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	// A run has what stack samples tell beside checkpoints only where there was time for some.
	of := whole.(map[string]any)["functions"].([]any)[0].(map[string]any)
	of["inner_samples"], of["inner"] = 1, []any{map[string]any{"name": "dumps", "file": "/json.py", "line": 1,
		"language": "python", "stack_samples": 1, "stack_samples_inclusive": 1}}
	if b, err = json.Marshal(poison(whole)); err != nil {
		t.Fatal(err)
	}
	hostile := evil + ".json"
	for _, name := range []string{hostile, "two.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range format.Of((*report.Run)(nil)) {
		if f.Name == "png" || f.Name == "pprof" || f.IsFolder((*report.Run)(nil)) {
			continue // are no text
		}
		shows(t, dir, "report", "-f", f.Name, hostile)
		if _, err := f.Writer(report.Several{}); err == nil {
			shows(t, dir, "report", "-f", f.Name, hostile, "two.json")
		}
		for _, choice := range f.Choices {
			for _, value := range choice.Values {
				if f.Table {
					cellsHarmless(t, shows(t, dir, "report", "-f", f.Name, "--"+choice.Flag, value, hostile))
				}
			}
		}
	}
	for _, args := range [][]string{
		{"verify", hostile}, {"compare", hostile, "two.json"},
		{"compare", "--allow-different", "run.json", hostile}, {"compare", "-f", "markdown", hostile, "two.json"},
		{"compare", "--json", hostile, "two.json"}, {"report", evil}, {"verify", evil}, {"compare", evil, evil},
		{"report", "-f", evil, hostile}, {"report", "--from", "hespas", hostile}, {evil}, {"measure", evil},
		{"measure", "--" + evil}, {"run", "--", evil}, {"analyze", script}, {"analyze", "--json", script},
		{"gate", "--base", evil, "--", "true"}, {"track", "--tracker", evil}, {"track", "--format", evil},
		{"info", "-s", evil}, {"sdk", evil, evil}, {"measure", "-o", evil + "/x", script},
		{"report", "-o", evil + "/x.html", hostile}, {"config", evil}, {"calibrate", "--meter", evil},
		{"benchmark", evil},
	} {
		shows(t, dir, args...)
	}
	if got := shows(t, dir, "report", "-f", "hespas", "-o", "x.hespas.json", "run.json"); got != "" {
		t.Error(got)
	}
	stream, err := os.ReadFile(filepath.Join(dir, "x.hespas.json"))
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(evil)
	stream = bytes.ReplaceAll(stream, []byte(`"enter:`), append([]byte(`"enter:`), quoted[1:len(quoted)-1]...))
	stream = bytes.ReplaceAll(stream, []byte(`"exit:`), append([]byte(`"exit:`), quoted[1:len(quoted)-1]...))
	if err := os.WriteFile(filepath.Join(dir, "x.hespas.json"), stream, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := shows(t, dir, "report", "--from", "hespas", "x.hespas.json"); !strings.Contains(got, "samples") {
		t.Error(got)
	}
	shows(t, dir, "run", "-s", "estimate", "-n", "2", "--export-csv", "x.csv", "--export-markdown", "x.md", "-o", "x.json",
		"--", "true", evil)
	for _, name := range []string{"x.csv", "x.md", "x.json"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if found := harmless(string(b)); found != "" {
			t.Errorf("%s: %s", name, found)
		}
		if name == "x.csv" {
			cellsHarmless(t, string(b))
		}
	}
}

// cellsHarmless wants a table whose texts no spreadsheet runs.
func cellsHarmless(t *testing.T, table string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatalf("%v: %d rows", err, len(all))
	}
	for _, row := range all {
		for _, c := range row {
			if c != "" && strings.ContainsAny(c[:1], "=+-@\t\r") {
				if _, err := strconv.ParseFloat(c, 64); err != nil {
					t.Errorf("a spreadsheet runs %q", c)
				}
			}
		}
	}
}

// A machine whose names of sensors are hostile, through what shows sensors.
func TestHostileMachine(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n" +
			"model name\t: " + strings.ReplaceAll(evil, "\n", "") + "\n",
		"proc/sys/kernel/osrelease":                                       evil,
		"proc/sys/kernel/perf_event_paranoid":                             "2\n",
		"sys/class/dmi/id/sys_vendor":                                     evil,
		"sys/class/dmi/id/product_name":                                   evil,
		"sys/class/powercap/intel-rapl:0/name":                            evil,
		"sys/class/powercap/intel-rapl:0/energy_uj":                       "1000000\n",
		"sys/class/powercap/intel-rapl:0/max_energy_range_uj":             "262143328850\n",
		"sys/class/hwmon/hwmon0/name":                                     evil,
		"sys/class/hwmon/hwmon0/temp1_input":                              "-5000\n",
		"sys/class/hwmon/hwmon0/temp1_label":                              evil,
		"sys/class/hwmon/hwmon0/power1_input":                             "40000000\n",
		"sys/class/hwmon/hwmon0/power1_label":                             evil,
		"sys/class/hwmon/hwmon1/name":                                     "smpro_hwmon\n",
		"sys/class/hwmon/hwmon1/power1_input":                             "40000000\n",
		"sys/class/hwmon/hwmon1/power1_label":                             evil,
		"sys/class/power_supply/BAT0/type":                                "Battery\n",
		"sys/class/power_supply/BAT0/status":                              evil,
		"sys/class/power_supply/BAT0/power_now":                           evil,
		"sys/devices/system/clocksource/clocksource0/current_clocksource": evil,
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if out := shows(t, dir, "--sysroot", root, "info"); !strings.Contains(out, `\x1b[2J`) {
		t.Errorf("the names are not shown:\n%s", out)
	}
	for _, args := range [][]string{
		{"info", "--json"}, {"doctor"}, {"doctor", "--json"}, {"calibrate", "--show"}, {"init-sensors", "--dry-run"},
		{"measure", "-c", "pass"}, {"measure", "--json", "-c", "pass"},
		{"run", "-n", "2", "--", "true"}, {"track", "bench", "true"},
	} {
		shows(t, dir, append([]string{"--sysroot", root}, args...)...)
	}
	for _, format := range []string{"csv", "jsonl", "wattameter"} {
		out := shows(t, dir, "--sysroot", root, "track", "--format", format, "-i", evil[:4], "-o", format,
			"--duration", "0.1", "--tracker", "0.01,rapl,hwmon")
		files, err := filepath.Glob(filepath.Join(dir, format, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files\n%s", format, err, len(files), out)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if found := harmless(string(b)); found != "" {
				t.Errorf("%s: %s", name, found)
			}
			switch format {
			case "csv":
				cellsHarmless(t, string(b))
				if !strings.Contains(string(b), ",-5,") {
					t.Errorf("a negative temperature is no number:\n%s", b)
				}
			case "jsonl":
				for line := range strings.Lines(string(b)) {
					if !json.Valid([]byte(line)) {
						t.Errorf("%s: no JSON: %s", name, line)
					}
				}
			}
		}
	}
}

// Everything that cli shows goes through the package shown. Its own files of a
// fixed form and the words of other programs go as they are.
func TestOneDoorToTerminals(t *testing.T) {
	asTheyAre := map[string]string{
		"cli/compare.go": "a format, which escapes", "cli/report.go": "a format, which escapes",
		"cli/gate/output.go": "JSON of report", "cli/trend.go": "a format, which escapes", "cli/output/output.go": "JSON of report",
		"cli/run_exports.go": "JSON of report", "cli/run_per.go": "the command's words", "cli/merge.go": "JSON of report", "cli/measure_repeat.go": "JSON of report",
		"cli/track/merge.go": "CSV of a format", "cli/measure.go": "a compiler's words", "cli/compiler.go": "a compiler's words",
	}
	var files []string
	for _, pattern := range []string{"cli/*.go", "cli/*/*.go"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	if len(files) < 60 {
		t.Errorf("only %d files seen", len(files))
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, direct := types.ExprString(call.Fun), false
			if len(call.Args) > 0 {
				direct = strings.HasPrefix(types.ExprString(call.Args[0]), "os.Std")
			}
			prints := strings.HasPrefix(fun, "fmt.Print") ||
				direct && (strings.HasPrefix(fun, "fmt.Fprint") || fun == "io.WriteString")
			writes := regexp.MustCompile(`^os\.Std(out|err)\.Write`).MatchString(fun)
			if prints || writes && asTheyAre[name] == "" {
				t.Errorf("%s: %s writes past the package shown", fset.Position(call.Pos()), fun)
			}
			return true
		})
	}
}
