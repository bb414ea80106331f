package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cg/long"
	"cg/report"
	"cg/report/usage"
)

// requestPrograms are the programs of testdata/session that tell of requests, in all languages. Where it must not take
// long, the package of C stands for C++, which has the same header, and a test that is about cg, not about the packages,
// names some languages that stand for all.
func requestPrograms(t *testing.T, some ...string) []sdkProgram {
	t.Helper()
	programs, dir := sdkPrograms(t), t.TempDir()
	left := func(lang string) bool { return lang == "cpp" || len(some) > 0 && !slices.Contains(some, lang) }
	if !long.Without(t, "languages for which others stand") {
		left = func(string) bool { return false }
	}
	all := slices.DeleteFunc(programs, func(p sdkProgram) bool { return left(p.lang) })
	run := func(argv ...string) {
		t.Helper()
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	for _, lang := range []string{"python", "node", "c"} {
		if left(lang) && (lang != "c" || left("cpp")) {
			continue
		}
		run(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "sdk", lang, filepath.Join(dir, lang))
	}
	if !left("python") {
		all = append(all, sdkProgram{"python", []string{"env", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + filepath.Join(dir, "python"), "python3", "-W", "error", "testdata/session/requests.py"}})
	}
	for _, lang := range [][]string{{"node"}, {"c", "cc", "-std=c99"}, {"cpp", "c++", "-std=c++11", "-xc++"}} {
		if left(lang[0]) {
			continue
		}
		tool := lang[len(lang[:min(2, len(lang))])-1]
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Log(err)
			continue
		}
		if lang[0] == "node" {
			all = append(all, sdkProgram{"node", []string{"env", "CODEGREEN_PACKAGE=" + filepath.Join(dir, "node/index.mjs"), "node", "testdata/session/requests.mjs"}})
			continue
		}
		bin := filepath.Join(dir, lang[0]+".bin")
		run(slices.Concat(lang[1:], []string{"-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I" + filepath.Join(dir, "c"), "-pthread", "-o", bin, "testdata/session/requests.c"})...)
		all = append(all, sdkProgram{lang[0], []string{bin}})
	}
	return all
}

// forks are the languages whose program has a child that tells of requests, too.
var forks = []string{"python", "c", "cpp"}

// A program says by its package which requests it works on, to a monitor that came later: they have
// energy in the ratio of their time, and no more than the program.
func TestSDKRequests(t *testing.T) {
	dir := knownMachine(t)
	for _, p := range requestPrograms(t) {
		t.Run(p.lang, func(t *testing.T) {
			socket, file := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "out.json")
			program := exec.Command(p.argv[0], append(p.argv[1:], "requests")...)
			program.Env = append(os.Environ(), "CG_SOCKET="+socket)
			said := &output{}
			program.Stdout, program.Stderr = said, said
			if err := program.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { program.Process.Kill(); program.Wait() }()
			least := map[string]int{"GET /dear": 5, "GET /cheap": 5}
			if slices.Contains(forks, p.lang) {
				least["forked"] = 3
			}
			d, text := monitoredUntil(t, least, "--sysroot", dir, "-i", "0.2", "--socket", socket, "-o", file)
			routes := map[string]usage.Route{}
			sum := 0.0
			for _, r := range d.Requests {
				routes[r.Name] = r
				if r.Name != "forked" { // by another process
					sum += r.EnergyJ.Float()
				}
			}
			dear, cheap := routes["GET /dear"], routes["GET /cheap"]
			if dear.Requests < 5 || cheap.Requests < 5 {
				t.Fatalf("%+v\n%s\n%s", d.Requests, text, said.text.String())
			}
			if ratio := dear.EnergyJ.Float() / cheap.EnergyJ.Float(); ratio < 2 || ratio > 4.5 { // 60 ms and 20 ms
				t.Errorf("%v J and %v J\n%s", dear.EnergyJ, cheap.EnergyJ, text)
			}
			// Where a thread is known, its time tells the energy; else time does, and it may be none.
			if byThread := *dear.EnergyLoJ > 0; byThread != (p.lang != "go") {
				t.Errorf("%+v", dear)
			}
			for _, process := range d.Processes {
				if process.PID == program.Process.Pid && sum > process.EnergyJ.Float()+1e-6 {
					t.Errorf("%v J of %v J", sum, process.EnergyJ.Float())
				}
			}
			if forked := routes["forked"]; least["forked"] > 0 && (forked.Requests < 3 || *forked.EnergyJ == 0) {
				t.Errorf("of the child: %+v", forked)
			}
			if said.text.Len() > 0 {
				t.Error(said.text.String())
			}
		})
	}
}

// Under cg measure each route is a task of the run: with its requests, and energy in the ratio of their time. A
// program that has the socket of a monitor tells that one.
func TestSDKRequestsOfARun(t *testing.T) {
	dir, cg := knownMachine(t), filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	for _, p := range requestPrograms(t, "python", "go") { // the thread of a request is known, and is not
		t.Run(p.lang, func(t *testing.T) {
			measured := func(socket string) *report.Run {
				t.Helper()
				file := filepath.Join(t.TempDir(), "run.json")
				ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
				defer end()
				cmd := exec.CommandContext(ctx, cg, slices.Concat([]string{"--sysroot", dir, "measure", "--sample", "-t", "300", "-o", file, "--"}, p.argv, []string{"requests", "12"})...)
				cmd.Env = append(os.Environ(), "CG_SOCKET="+socket)
				cmd.WaitDelay = 5 * time.Second // the program holds the pipe, too
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				r, err := report.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				for _, fault := range r.Check() {
					t.Error(fault)
				}
				return r
			}
			r := measured("")
			routes, sum := map[string]report.Task{}, 0.0
			for _, task := range r.Tasks[1:] {
				if !task.IsRoute() {
					t.Errorf("%+v is no route", task)
					continue
				}
				routes[task.Name] = task
				sum += task.ProgramEnergyJ.Float()
			}
			dear, cheap := routes["GET /dear"], routes["GET /cheap"]
			if !dear.IsRoute() || !cheap.IsRoute() || dear.Units[0].Count != 12 || cheap.Units[0].Count != 12 {
				t.Fatalf("%+v", r.Tasks)
			}
			if ratio := *dear.Units[0].ProgramJ / *cheap.Units[0].ProgramJ; ratio < 2 || ratio > 4.5 { // 60 ms and 20 ms
				t.Errorf("a request took %v J and %v J", *dear.Units[0].ProgramJ, *cheap.Units[0].ProgramJ)
			}
			if program := r.Totals.ProgramEnergyJ.Float(); sum > program {
				t.Errorf("%v J of %v J", sum, program)
			}
			if byThread := *dear.ProgramEnergyLoJ > 0; byThread != (p.lang != "go") {
				t.Errorf("%+v", dear)
			}
			if r := measured("/not/there"); len(r.Tasks) != 1 {
				t.Errorf("the run hears what is said to another: %+v", r.Tasks)
			}
		})
	}
}

// monitoredUntil runs cg monitor until routes had so many requests, and reads the summary, whose file is the last argument:
// on a busy machine a program takes longer.
func monitoredUntil(t *testing.T, least map[string]int, args ...string) (*usage.Document, string) {
	t.Helper()
	rows := filepath.Join(t.TempDir(), "rows")
	cmd := monitorCommand(t, append([]string{"--jsonl", rows}, args...)...)
	said := &output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	eventually(t, "its requests", func() bool {
		b, _ := os.ReadFile(rows)
		lines := bytes.Split(b, []byte("\n"))
		var row struct {
			Requests []struct {
				Name     string
				Requests int
			}
		}
		if len(lines) < 2 || json.Unmarshal(lines[len(lines)-2], &row) != nil {
			return false
		}
		had := map[string]int{}
		for _, r := range row.Requests {
			had[r.Name] = r.Requests
		}
		for name, n := range least {
			if had[name] < n {
				return false
			}
		}
		return true
	})
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.text.String())
	}
	return summaryOf(t, args), said.text.String()
}

// summaryOf reads the file of the last argument.
func summaryOf(t *testing.T, args []string) *usage.Document {
	t.Helper()
	b, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		t.Fatal(err)
	}
	d := &usage.Document{}
	if err := json.Unmarshal(b, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Who listens and takes nothing keeps no program waiting: what does not fit is dropped and counted,
// and what was said is whole lines. Without a socket nothing is counted.
func TestSDKRequestsDoNotWait(t *testing.T) {
	for _, p := range requestPrograms(t) {
		t.Run(p.lang, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			listener, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			flood := func(socket string) (dropped int) {
				cmd := exec.Command(p.argv[0], append(p.argv[1:], "flood")...)
				cmd.Env = append(os.Environ(), "CG_SOCKET="+socket)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				_, text, _ := strings.Cut(string(out), "dropped: ")
				if dropped, err = strconv.Atoi(strings.TrimSpace(text)); err != nil {
					t.Fatalf("%q: %v", out, err)
				}
				return dropped
			}
			if dropped := flood(path); dropped == 0 {
				t.Error("nothing was dropped")
			}
			c, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetReadDeadline(time.Now().Add(time.Minute))
			n := 0
			for lines := bufio.NewScanner(c); lines.Scan(); n++ {
				var v map[string]any
				if err := json.Unmarshal(lines.Bytes(), &v); err != nil || v["annotate"] != "request" {
					t.Fatalf("line %d: %q: %v", n, lines.Text(), err)
				}
			}
			if n < 10 {
				t.Errorf("only %d lines", n)
			}
			if dropped := flood(""); dropped != 0 {
				t.Errorf("%d dropped without a socket", dropped)
			}
			if dropped := flood(path + "/not/there"); dropped != 50_000 {
				t.Errorf("%d dropped where nobody listens, want all that began", dropped)
			}
		})
	}
}
