package e2e

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/long"
)

// Maven compiles the packages as cg sdk java writes them, also where its plugin is one that does not know
// maven.compiler.release and takes Java 5 for what is not said: that of Maven 3.8.
func TestMavenCompilesPackages(t *testing.T) {
	long.Skip(t, "")
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sdk")
	if out, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "sdk", "java", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, part := range []string{"", "jmh", "junit", "opentelemetry"} {
		var pom struct {
			Source  string `xml:"properties>maven.compiler.source"`
			Target  string `xml:"properties>maven.compiler.target"`
			Release string `xml:"properties>maven.compiler.release"`
		}
		text, err := os.ReadFile(filepath.Join(dir, part, "pom.xml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(text, &pom); err != nil || pom.Source != "17" || pom.Target != "17" || pom.Release != "17" {
			t.Errorf("%s/pom.xml: %+v, %v", part, pom, err)
		}
	}
	need(t, "mvn", "apt-get install maven")
	args := []string{"-q", "-B", "-f", dir, "compile"}
	if home, err := os.UserHomeDir(); err == nil { // Maven asks the user database, which may name no such folder
		args = append(args, "-Dmaven.repo.local="+filepath.Join(home, ".m2/repository"))
	}
	out, err := exec.Command("mvn", args...).CombinedOutput()
	// .ci/run sets CG_JAVA_HOOKS where Maven gets what it needs.
	if strings.Contains(string(out), "could not be resolved") && os.Getenv("CG_JAVA_HOOKS") == "" {
		t.Skipf("Maven gets no plugins here\n%s", out)
	}
	if _, missing := os.Stat(filepath.Join(dir, "target/classes/codegreen/Session.class")); err != nil || missing != nil {
		t.Errorf("%v, %v\n%s", err, missing, out)
	}
}

// -prof codegreen.Jmh gives JMH's benchmarks microjoules for an operation: the example of docs/hooks.md.
func TestJMH(t *testing.T) {
	long.Skip(t, "JMH compiles, and starts a virtual machine for each benchmark")
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
