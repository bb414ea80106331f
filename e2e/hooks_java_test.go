package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// -prof codegreen.Jmh gives JMH's benchmarks microjoules for an operation: the example of docs/hooks.md.
func TestJMH(t *testing.T) {
	t.Parallel()
	path, env, dir := javaHooks(t, "jmh"), sdkMachine(t), t.TempDir()
	source := filepath.Join(dir, "Sort.java")
	if err := os.WriteFile(source, []byte(example(t, "hooks.md", "java")), 0o600); err != nil {
		t.Fatal(err)
	}
	compile(t, "-cp", path, "-d", dir, source) // JMH's annotation processor makes the benchmark
	cmd := exec.Command("java", "-XX:-UsePerfData", "-cp", dir+":"+path, "org.openjdk.jmh.Main", "-prof", "codegreen.Jmh", "-f", "1", "-wi", "1", "-w", "100ms",
		"-i", "3", "-r", "400ms", "-rf", "json", "-rff", "result.json")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, string(out), "Sort.sort:energy ", " uJ/op")
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	type metric struct {
		Score float64
		Error any         `json:"scoreError"`
		Unit  string      `json:"scoreUnit"`
		Raw   [][]float64 `json:"rawData"`
	}
	var results []struct {
		Primary   metric            `json:"primaryMetric"`
		Secondary map[string]metric `json:"secondaryMetrics"`
	}
	if err := json.Unmarshal(text, &results); err != nil || len(results) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	r := results[0]
	energy, lo, hi := r.Secondary["energy"], r.Secondary["energy.lo"], r.Secondary["energy.hi"]
	if energy.Unit != "uJ/op" || len(energy.Raw) != 1 || len(energy.Raw[0]) != 3 || energy.Error == nil || lo.Score > energy.Score || energy.Score > hi.Score {
		t.Fatalf("%+v", r.Secondary)
	}
	// Power by time: watts times microseconds are microjoules. Iterations have more operations than those that are timed.
	for i, uj := range energy.Raw[0] {
		if want := sdkWatts * r.Primary.Raw[0][i]; uj < 0.6*want || uj > 1.4*want {
			t.Errorf("iteration %d: %v uJ/op in %v us, want %v", i, uj, r.Primary.Raw[0][i], want)
		}
	}
}
