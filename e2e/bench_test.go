package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkJavaStart is what cg adds to a Java program that does next to
// nothing: pairs of runs, java with classes and cg with the source and warm
// caches, one after the other. -benchtime 20x makes 20 pairs.
func BenchmarkJavaStart(b *testing.B) {
	dir := b.TempDir()
	cg := filepath.Join(dir, "cg")
	if out, err := exec.Command("go", "build", "-o", cg, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	source := filepath.Join(dir, "Hello.java")
	text := "public class Hello {\n    public static void main(String[] args) {\n        System.out.println(\"hello\");\n    }\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, home := range jdks() {
		name := filepath.Base(home)
		b.Run(name, func(b *testing.B) {
			java, classes := filepath.Join(home, "bin/java"), filepath.Join(dir, name)
			if out, err := exec.Command(filepath.Join(home, "bin/javac"), "-d", classes, source).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			run := func(args ...string) time.Duration {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
				begin := time.Now()
				if err := cmd.Run(); err != nil {
					b.Fatal(args, err)
				}
				return time.Since(begin)
			}
			plain := []string{java, "-cp", classes, "Hello"}
			measured := []string{cg, "measure", "--java", java, source}
			run(plain...)
			run(measured...)
			var without, with, more []time.Duration
			for range b.N {
				p := run(plain...)
				m := run(measured...)
				without, with, more = append(without, p), append(with, m), append(more, m-p)
			}
			report := func(d time.Duration, unit string) { b.ReportMetric(float64(d.Microseconds())/1e3, unit) }
			for _, all := range [][]time.Duration{without, with, more} {
				slices.Sort(all)
			}
			report(without[0], "java-min-ms")
			report(with[0], "cg-min-ms")
			report(with[0]-without[0], "more-min-ms")
			report(more[len(more)/2], "more-median-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
