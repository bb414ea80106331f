package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"cg/nemb/condition"
	"cg/nemb/simulate"
	"cg/report"
	"cg/report/usage"
)

// knownMachine is a machine of 20 W and 3 W in a folder.
func knownMachine(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	tree, err := simulate.Mount(dir, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: counter(20), Zones: []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "dram", Counter: counter(3)}}},
	}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return dir
}

func monitorCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), append([]string{"monitor"}, args...)...)
}

// A machine of known power: its energy is right, the lines add up to it to the microjoule,
// and a process that is busy has what nobody else has.
func TestMonitorKnownPower(t *testing.T) {
	dir := knownMachine(t)
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { busy.Process.Kill(); busy.Wait() }()
	file := filepath.Join(dir, "..", filepath.Base(dir)+".json")
	defer os.Remove(file)
	text, err := monitorCommand(t, "--sysroot", dir, "-d", "2", "-i", "0.2", "--pid", strconv.Itoa(busy.Process.Pid), "-o", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d usage.Document
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if d.Totals.EnergyJ == nil || d.Totals.EnergyKind != "measured" {
		t.Fatalf("%+v\n%s", d.Totals, text)
	}
	if want := 23 * d.DurationS; math.Abs(d.Totals.EnergyJ.Float()-want) > 0.05*want {
		t.Errorf("%v J in %v s of 23 W", d.Totals.EnergyJ.Float(), d.DurationS)
	}
	sum := report.Joules(0)
	for _, l := range d.Ledger {
		sum += *l.EnergyJ
	}
	if sum != *d.Totals.EnergyJ {
		t.Errorf("the lines are %d, the total %d", sum, *d.Totals.EnergyJ)
	}
	target := d.Targets[0]
	if target.EnergyJ == nil || *target.EnergyJ == 0 || *target.EnergyJ > *d.Ledger[0].EnergyJ || target.Ended || target.EnergyKind != "derived" {
		t.Errorf("%+v", target)
	}
}

// A program says over the socket which requests it works on; they have energy, and no more than
// the program.
func TestMonitorRequests(t *testing.T) {
	dir := knownMachine(t)
	socket, file := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "out.json")
	program := exec.Command("python3", "-c", `
import json, os, socket, sys, threading, time
s = socket.socket(socket.AF_UNIX)
while True:
    try:
        s.connect(sys.argv[1])
        break
    except OSError:
        time.sleep(0.01)
def say(**what):
    s.sendall((json.dumps({"annotate": "request", **what}) + "\n").encode())
while True:
    for name, seconds in ("GET /dear", 0.06), ("GET /cheap", 0.02):
        here = {"tid": threading.get_native_id(), "id": 1}
        say(name=name, begin=time.time(), cpu=time.thread_time(), **here)
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
        say(end=time.time(), cpu=time.thread_time(), **here)
`, socket)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { program.Process.Kill(); program.Wait() }()
	d, text := monitoredUntil(t, map[string]int{"GET /dear": 10, "GET /cheap": 10}, "--sysroot", dir, "-i", "0.2", "--socket", socket, "-o", file)
	if len(d.Requests) != 2 || d.Requests[0].Name != "GET /dear" || d.Requests[0].Requests == 0 {
		t.Fatalf("%+v\n%s", d.Requests, text)
	}
	dear, cheap := d.Requests[0].EnergyJ.Float(), d.Requests[1].EnergyJ.Float()
	if ratio := dear / cheap; ratio < 2 || ratio > 5 { // 60 ms and 20 ms of processor time
		t.Errorf("%v J and %v J\n%s", dear, cheap, text)
	}
	for _, p := range d.Processes {
		if p.PID == program.Process.Pid && (dear+cheap > p.EnergyJ.Float()+1e-6 || dear+cheap < 0.4*p.EnergyJ.Float()) {
			t.Errorf("%v J of %v J", dear+cheap, p.EnergyJ.Float())
		}
	}
	if !strings.Contains(text, "GET /dear") {
		t.Errorf("%s", text)
	}
}

// The service of systemd starts cg with flags that it has.
func TestMonitorService(t *testing.T) {
	b, err := os.ReadFile("deploy/monitor/cg-monitor.service")
	if err != nil {
		t.Fatal(err)
	}
	help, err := monitorCommand(t, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(` (--[a-z-]+)`).FindAllStringSubmatch(regexp.MustCompile(`(?m)^ExecStart=.*$`).FindString(string(b)), -1)
	if len(flags) == 0 {
		t.Fatal("no flags")
	}
	for _, f := range flags {
		if !strings.Contains(string(help), f[1]+" ") {
			t.Errorf("cg monitor has no %s", f[1])
		}
	}
}

// On a terminal there is a table, which is drawn anew, and the summary at the end.
func TestMonitorTerminal(t *testing.T) {
	for _, signal := range []unix.Signal{unix.SIGINT, unix.SIGHUP} { // a hang-up ends it where there is a terminal
		t.Run(unix.SignalName(signal), func(t *testing.T) { monitorTerminal(t, signal) })
	}
}

// Below nohup cg monitor outlives its terminal.
func TestMonitorBelowNohup(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	monitor := monitorCommand(t, "-s", "estimate", "-i", "0.1", "--jsonl", rows)
	cmd := exec.Command("nohup", monitor.Args...)
	cmd.Dir = t.TempDir() // of nohup.out
	f, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	// more waits for some rows more.
	more := func() {
		t.Helper()
		before, _ := os.ReadFile(rows)
		for deadline := time.Now().Add(time.Minute); ; {
			now, _ := os.ReadFile(rows)
			if bytes.Count(now, []byte("\n")) > bytes.Count(before, []byte("\n"))+2 {
				return
			}
			select {
			case err := <-ended:
				t.Fatalf("it has ended: %v", err)
			case <-time.After(5 * time.Millisecond):
			}
			if time.Now().After(deadline) {
				t.Fatal("there are no rows")
			}
		}
	}
	go io.Copy(io.Discard, f)
	more()
	cmd.Process.Signal(unix.SIGHUP)
	more()
	cmd.Process.Signal(unix.SIGTERM)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func monitorTerminal(t *testing.T, signal unix.Signal) {
	cmd := monitorCommand(t, "-s", "estimate", "-i", "0.1")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 12, Cols: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	var all bytes.Buffer
	buf := make([]byte, 4096)
	signalled := false
	for {
		n, err := f.Read(buf)
		all.Write(buf[:n])
		if !signalled && bytes.Count(all.Bytes(), []byte("\x1b[H\x1b[J")) >= 3 {
			signalled = true
			cmd.Process.Signal(signal)
		}
		if err != nil { // EIO: the other side is closed
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, all.String())
	}
	frames := strings.Split(all.String(), "\x1b[H\x1b[J")
	for _, frame := range frames[1 : len(frames)-1] {
		lines := strings.Split(strings.TrimSuffix(frame, "\r\n"), "\r\n")
		if len(lines) > 11 || !strings.HasPrefix(lines[0], "cg monitor") {
			t.Errorf("%d lines:\n%s", len(lines), frame)
		}
		for _, line := range lines {
			if len([]rune(line)) > 60 {
				t.Errorf("%d columns: %s", len([]rune(line)), line)
			}
		}
	}
	if last := frames[len(frames)-1]; !strings.Contains(last, "readings, one each 100 ms") {
		t.Errorf("no summary:\n%s", last)
	}
}

// A broker and a collector that take connections and never answer, and scrapers that ask for half of something, at the
// same time: readings go on, the end comes, and what was not sent is counted and said.
func TestMonitorDeadEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() // nobody accepts: the kernel does
	dead := silent.Addr().String()
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "monitor", "-s", "estimate", "-i", "100ms", "--jsonl", rows,
		"--mqtt", "mqtt://"+dead, "--otlp", "http://"+dead, "--serve", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	said, all := bufio.NewScanner(stderr), ""
	for said.Scan() {
		all += said.Text() + "\n"
		if _, url, there := strings.Cut(said.Text(), "metrics are at http://"); there {
			for range 20 {
				c, err := net.Dial("tcp", strings.TrimSuffix(url, "/metrics"))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				io.WriteString(c, "GET /metrics HTTP/1.1\r\nHo")
			}
			break
		}
	}
	const enough = 15
	for n := 0; n < enough; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(rows)
		if n = bytes.Count(text, []byte("\n")); ctx.Err() != nil {
			t.Fatalf("%d rows\n%s", n, all)
		}
	}
	cmd.Process.Signal(unix.SIGINT)
	for said.Scan() {
		all += said.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, all)
	}
	for _, out := range []string{"--mqtt", "--otlp"} {
		if !regexp.MustCompile(out + `: [1-9][0-9]* \w+ were not sent`).MatchString(all) {
			t.Errorf("%s: nothing is said of what was not sent\n%s", out, all)
		}
	}
}

// Several cg measure one machine at the same time: what cg measure says of its program and what cg monitor says of
// another process is together no more than the counters show, cg monitor and cg track have the same energy, and cg
// monitor names the others.
func TestSeveralAtOnce(t *testing.T) {
	dir, out := knownMachine(t), t.TempDir()
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { busy.Process.Kill(); busy.Wait() }()
	start := func(args ...string) (end func()) {
		t.Helper()
		cmd := exec.Command(cg, args...)
		cmd.Env = append(os.Environ(), "CG_SYSROOT="+dir)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return func() {
			t.Helper()
			cmd.Process.Signal(unix.SIGINT)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%q: %v\n%s", args, err, said.String())
			}
		}
	}
	appears := func(name string) {
		t.Helper()
		for range 600 {
			if info, err := os.Stat(name); err == nil && info.Size() > 0 {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("%s is not there", name)
	}
	endTrack := start("track", "--tracker", "0.1,rapl", "-o", out, "--flush", "0.1")
	appears(filepath.Join(out, "cg_100ms.csv"))
	rows := filepath.Join(out, "rows.jsonl")
	endMonitor := start("monitor", "-i", "100ms", "--pid", strconv.Itoa(busy.Process.Pid), "--jsonl", rows, "-o",
		filepath.Join(out, "monitor.json"))
	appears(rows)
	program := filepath.Join(out, "spin.py")
	if err := os.WriteFile(program, []byte("import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n    pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	measure := exec.Command(cg, "measure", "-o", filepath.Join(out, "run.json"), program)
	measure.Env = append(os.Environ(), "CG_SYSROOT="+dir)
	if text, err := measure.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	endMonitor()
	endTrack()
	read := func(name string, into any) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(out, name))
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var watched usage.Document
	read("monitor.json", &watched)
	var run struct {
		Totals struct {
			ProgramEnergyJ *float64 `json:"program_energy_j"`
			EnergyJ        *float64 `json:"energy_j"`
		}
		MachineState condition.Around `json:"machine_state"`
	}
	read("run.json", &run)
	if watched.Totals.EnergyJ == nil || len(watched.Targets) != 1 || watched.Targets[0].EnergyJ == nil || run.Totals.ProgramEnergyJ == nil {
		t.Fatalf("%+v, %+v", watched, run)
	}
	whole, of := watched.Totals.EnergyJ.Float(), watched.Targets[0].EnergyJ.Float()
	if p := *run.Totals.ProgramEnergyJ; p <= 0 || of <= 0 || p+of > whole {
		t.Errorf("%v J of the program and %v J of another process, of %v J", p, of, whole)
	}
	if want := 23 * watched.DurationS; math.Abs(whole-want) > 0.05*want {
		t.Errorf("%v J in %v s of 23 W, with others that read the counters", whole, watched.DurationS)
	}
	if !strings.Contains(strings.Join(watched.Others, " "), "cg track") {
		t.Errorf("others are %q, want cg track among them", watched.Others)
	}
	for _, counts := range []string{"all processes", "the whole machine"} {
		if !slices.ContainsFunc(run.MachineState.Before.Others, func(o condition.Other) bool { return o.Counts == counts }) {
			t.Errorf("others are %v, want one that counts %s", run.MachineState.Before.Others, counts)
		}
	}
}
