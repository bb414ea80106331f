package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/patience"
)

func TestParse(t *testing.T) {
	for _, test := range []struct{ text, want string }{ // the meter, or what the error says
		{"wall,unit=W,error=2%,exec:echo 1, 2", "wall W 1 false 1s 0.02 0  exec echo 1, 2 "},
		{"wall, unit=mW, error=0, lines:x", "how far the meter may be off"},
		{"gpu1,unit=kWh,error=1%+0.01kWh,period=10s,take=last:E=(.*),file:/run/e", "gpu1 kWh 3.6e+06 true 10s 0.01 36000 last:E=(.*) file /run/e "},
		{"disk,unit=W,error=0.5W,mqtt://u:p@host/a/b", "disk W 1 false 1s 0 0.5  mqtt mqtt://u:p@host a/b"},
		{"dram,unit=mJ,error=1%,mqtts://host:99/switch:0", "dram mJ 0.001 true 1s 0.01 0  mqtts mqtts://host:99 switch:0"},
		{"wall", "does not say where its readings come from"},
		{"exec:x", "does not say where its readings come from"},
		{"Wall,unit=W,error=1%,exec:x", `"Wall" is no name of what it covers`},
		{"machine,unit=W,error=1%,exec:x", "for the whole machine use wall"},
		{"wall,error=1%,exec:x", "unit=: want one of W"},
		{"wall,unit=hp,error=1%,exec:x", "unit=hp: want one of W"},
		{"wall,unit=W,exec:x", "error=: want how far the meter may be off, as its data sheet says: 2%, 0.5W, or 1%+0.5W"},
		{"wall,unit=W,error=2,exec:x", "error=2: want"},
		{"wall,unit=W,error=100%,exec:x", "error=100%: want"},
		{"wall,unit=W,error=1%+1%,exec:x", "error=1%+1%: want"},
		{"wall,unit=W,error=NaN%,exec:x", "error=NaN%: want"},
		{"wall,unit=W,error=2J,exec:x", "error=2J: want"},
		{"wall,unit=W,error=1%,period=1ms,exec:x", "period=1ms: want 100ms to 1m0s"},
		{"wall,unit=W,error=1%,period=soon,exec:x", "period=soon: want"},
		{"wall,unit=W,unit=J,error=1%,exec:x", "unit is given twice"},
		{"wall,unit=W,error=1%,colour=red,exec:x", `"colour=red" is no option`},
		{"wall,unit=W,error=1%,take=(,exec:x", "take="},
		{"wall,unit=W,error=1%,exec: ", "there is no command"},
		{"wall,unit=W,error=1%,file:power", "want the whole path"},
		{"wall,unit=W,error=1%,mqtt://host", "no address of a topic"},
		{"wall,unit=W,error=1%,mqtt://u:secret@/a", "no URL of a broker"},
		{"wall,unit=W,error=1%,mqtt://host/a/%23", "is no topic"},
	} {
		m, err := Parse(test.text)
		got := fmt.Sprintf("%s %s %g %v %v %g %g %s %s %s %s", m.Covers, m.Unit, m.Factor, m.Energy, m.Period, m.ErrorPart, m.ErrorAmount, m.Take, m.Way, m.Where, m.Topic)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != test.want || err != nil && !strings.Contains(got, test.want) {
			t.Errorf("%s:\n%s\nwant %s", test.text, got, test.want)
		}
		if strings.Contains(got, "secret") {
			t.Errorf("%s: it tells the password: %s", test.text, got)
		}
	}
	if m, _ := Parse("wall,unit=W,error=1%,mqtt://u:secret@host/a"); name(m) != "mqtt://host/a" {
		t.Errorf("%q", name(m))
	}
}

func TestFigures(t *testing.T) {
	const tasmota = `{"Time":"2026-11-27T02:00:00","ENERGY":{"TotalStartTime":"2024","Total":3.185,"Power":92,"Voltage":230}}`
	for _, test := range []struct {
		unit, take, text string
		value, step      float64 // in watts or joules; -1 for an error
	}{
		{"W", "", "42.5\n", 42.5, 0.1}, {"W", "", " 42 W ", 42, 1}, {"mW", "", "42500", 42.5, 0.001},
		{"Wh", "", "12.25", 44100, 36}, {"kWh", "", "1e-3", 3600, 3600}, {"J", "", "1.50e2 J", 150, 1},
		{"W", "json:.ENERGY.Power", tasmota, 92, 1}, {"kWh", "json:.ENERGY.Total", tasmota, 11466000, 3600},
		{"W", "json:.apower", `{"id":0,"apower":45.2}`, 45.2, 0.1}, {"W", "last:P=([0-9.]+)", "P=1\nP=2.5", 2.5, 0.1},
		{"W", "json:.apower", `{"id":0,"apower":null}`, -1, 0}, {"W", "json:.apower", "offline", -1, 0},
		{"W", "P=([0-9.]+)", "P=1 P=2", -1, 0}, {"W", "json:.a", `{"a": "warm"}`, -1, 0},
		{"W", "", "", -1, 0}, {"W", "", "42 J", -1, 0}, {"W", "", "n/a", -1, 0}, {"W", "", "NaN", -1, 0}, {"W", "", "Inf", -1, 0},
		{"W", "", "-3", -1, 0}, {"W", "", "1e7", -1, 0}, {"W", "", "1 2", -1, 0}, {"J", "", "0x1p4000", -1, 0},
	} {
		u := units[test.unit]
		f, err := newFigure(nemb.Meter{Unit: test.unit, Factor: u.factor, Energy: u.energy, Take: test.take})
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.of([]byte(test.text))
		if test.value < 0 && err == nil || test.value >= 0 && (err != nil || math.Abs(got.value-test.value) > 1e-9*test.value || math.Abs(got.step-test.step) > 1e-9*test.step) {
			t.Errorf("%s of %q: %+v, %v", test.unit, test.text, got, err)
		}
	}
}

// meterOf is a meter of a power, changed.
func meterOf(t *testing.T, text string) nemb.Meter {
	t.Helper()
	m, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shows is what a display shows: a value, or the error.
func shows(d display) string {
	r, err := d.read()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(r.value)
}

// A command is run for each reading; one that fails, hangs, or prints no number, or too much, gives none, and the
// next is tried all the same.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ command, want string }{
		{"echo 42.5", "42.5"},
		{"echo 4; exit 3", "the command failed: exit status 3"},
		{"echo no such plug >&2; exit 1", "the command failed: exit status 1: no such plug"},
		{"no-such-program-here", "the command failed: exit status 127"},
		{"echo warm", `it shows "warm": want a number in W`},
		{"true", `it shows "": want a number in W`},
		{"yes", "it prints more than 64 kB for a reading"},
		{"sleep 600 & sleep 600", "it has printed no reading within 300ms, and was ended"},
		{"read line; echo 7", "7"}, // of standard input there is nothing
		{"pwd >" + dir + "/pwd; echo 1 && echo $0 >/dev/null", "1"},
	} {
		f, _ := newFigure(meterOf(t, "wall,unit=W,error=1%,exec:"+test.command))
		o := newOnce(f)
		if strings.HasPrefix(test.command, "sleep") {
			o.within = 300 * time.Millisecond
		}
		for range 2 {
			if got := shows(o); !strings.HasPrefix(got, test.want) {
				t.Errorf("%s: %s, want %s", test.command, got, test.want)
			}
		}
		o.close()
		if got := shows(o); !strings.Contains(got, "failed") {
			t.Errorf("%s: it is run after its end: %s", test.command, got)
		}
	}
}

// until waits for what another goroutine does.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not after a minute: ", what)
		}
	}
}

// A process that goes on is read line by line. What it prints last is its figure until it is stale.
func TestLines(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "in")
	f, _ := newFigure(meterOf(t, "wall,unit=W,error=1%,lines:while [ ! -e "+pipe+".end ]; do cat "+pipe+" 2>/dev/null && rm "+pipe+"; done; echo bye >&2; exit 4"))
	l := newLines(f)
	var late time.Duration
	l.now = func() checkpoint.Instant { return checkpoint.Monotime() + checkpoint.Instant(late) }
	defer l.close()
	if _, err := l.read(); !patience.Hangs(err) {
		t.Errorf("before the first line: %v", err)
	}
	print := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(pipe+".new", []byte(text), 0o600), os.Rename(pipe+".new", pipe)); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ text, want string }{
		{"1.5\n", "1.5"}, {"2\n3\n\n", "3"}, {"4", "3"}, {"5\n", "45"}, {"off\n", `it shows "off": want a number in W`},
		{strings.Repeat("6", largest+1) + "\n", "it prints a line of more than 64 kB"}, {"7\n", "7"},
	} {
		print(step.text)
		until(t, step.want, func() bool { _, err := os.Stat(pipe); return err != nil && strings.HasPrefix(shows(l), step.want) })
	}
	late = 2900 * time.Millisecond
	if got := shows(l); got != "7" {
		t.Errorf("after three periods: %s", got)
	}
	late = 4 * time.Minute
	if got := shows(l); got != "its last reading is 4m0s old: it is stale" {
		t.Errorf("later: %s", got)
	}
	if err := os.WriteFile(pipe+".end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "its end", func() bool { return shows(l) == "the command failed: exit status 4: bye" })
}

// A file is a reading for as long as it is written anew.
func TestRewritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "power")
	f, _ := newFigure(meterOf(t, "wall,unit=W,error=1%,period=2s,file:"+path))
	r := newRewritten(f)
	defer r.close()
	var at checkpoint.Instant
	wall := time.Unix(1_800_000_000, 0)
	r.now, r.clock = func() checkpoint.Instant { return at }, func() time.Time { return wall }
	write := func(text string, written time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	if got := shows(r); !strings.Contains(got, "no such file") {
		t.Errorf("without a file: %s", got)
	}
	for i, step := range []struct {
		second  int
		text    string
		written int // seconds by the writer's clock, after ours began; -1 does not write
		want    string
	}{
		{0, "10\n", -60, "it has not been written for 1m0s: its reading is stale"},
		{1, "11\n", 0, "11"}, {6, "", -1, "11"}, {8, "", -1, "it has not been written for 7s: its reading is stale"},
		{9, "11\n", 1, "11"}, // the same figure, written again
		{10, "garbage", 2, `it shows "garbage": want a number in W`},
		{11, "", 3, `it shows "": want a number in W`},
		{12, "12 W\n", 9999, "12"}, {13, strings.Repeat(" ", largest+1), 4, path + " has more than 64 kB"},
	} {
		at = checkpoint.Instant(step.second) * 1e9
		if step.written != -1 {
			write(step.text, wall.Add(time.Duration(step.written)*time.Second))
		}
		if got := shows(r); !strings.HasPrefix(got, step.want) {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	f.meter.Where = "/proc/sys/kernel/pid_max" // a file of the kernel has no time of its own
	k := newRewritten(f)
	k.now, k.clock = r.now, func() time.Time { return wall.Add(1e6 * time.Hour) }
	if got := shows(k); strings.Contains(got, "stale") {
		t.Errorf("a file of the kernel: %s", got)
	}
	f.meter.Where = t.TempDir()
	if got := shows(newRewritten(f)); !strings.Contains(got, "it is no file but a folder") {
		t.Errorf("a folder: %s", got)
	}
}

// Sensors of meters: what covers what, with the meter's bounds, read at its period.
func TestSensors(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	var all []nemb.Meter
	for _, text := range []string{
		"wall,unit=W,error=1%+2W,exec:echo x >>" + count + "; echo 50",
		"package,unit=W,error=3%,exec:echo 20", "dram-1,unit=W,error=1W,exec:echo 2", "gpu0,unit=J,error=5%,exec:echo 100.5",
		"disk,unit=W,error=1%,exec:echo 3", "fans,unit=W,error=1%,exec:exit 1",
	} {
		all = append(all, meterOf(t, text))
	}
	sensors, err := openMeters(nemb.Root{Dir: t.TempDir(), Meters: all})
	if err == nil || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "meter: fans: exec:exit 1: the command failed: exit status 1") {
		t.Errorf("%v", err)
	}
	defer func() {
		for _, s := range sensors {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	var got []string
	for _, s := range sensors {
		at := watchOf(s).at
		watchOf(s).now = func() checkpoint.Instant { return at } // in the same period
		for range 3 {
			if err := s.Read(make([]nemb.Energy, 1)); err != nil {
				t.Error(err)
			}
		}
		d := s.Domains()[0]
		bounds := [2]float64{d.Lo, d.Hi}
		if b, is := s.(nemb.Bounded); is {
			bounds = b.Bounds()[0]
		}
		got = append(got, fmt.Sprintf("%s %s %v %s %.3f %.3f %v", d.ID, d.Kind, d.Whole, d.Method, bounds[0], bounds[1], d.Step))
	}
	want := []string{"wall psys true derived 0.950 1.050 0", "package-0 cpu_package false derived 0.970 1.030 0", "dram-1 dram false derived 0.500 1.500 0",
		"gpu0 gpu false measured 0.950 1.050 100000", "disk independent false derived 0.990 1.010 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text, _ := os.ReadFile(count); string(text) != "x\n" {
		t.Errorf("read more often than once a period: %q", text)
	}
	if _, err := openMeters(nemb.Root{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The step of an energy is that of all its texts, and not of the first one.
func TestSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "count")
	show := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		unit  string
		texts []string
		want  []nemb.Energy
	}{
		// zeros at the end are left out, so the first text is coarser than the meter is
		{"J", []string{"12", "12.25", "12.5", "13"}, []nemb.Energy{1e6, 1e4, 1e4, 1e4}},
		// six digits, whatever it has counted
		{"J", []string{"9.99999", "10.0001", "99.9999", "100.000"}, []nemb.Energy{10, 100, 100, 1000}},
		{"kJ", []string{"1.5", "1.75"}, []nemb.Energy{100e6, 10e6}},
		{"J", []string{"1.5e2", "1.525e2"}, []nemb.Energy{10e6, 100e3}},
	} {
		show(test.texts[0])
		s, err := open(nemb.Root{Dir: t.TempDir()}, meterOf(t, "wall,unit="+test.unit+",error=1%,exec:cat "+path))
		if err != nil {
			t.Fatal(err)
		}
		var got []nemb.Energy
		for _, text := range test.texts {
			show(text)
			if err := s.Read(make([]nemb.Energy, 1)); err != nil {
				t.Error(err)
			}
			got = append(got, s.(nemb.Stepped).Steps()[0])
		}
		if !slices.Equal(got, test.want) || s.Domains()[0].Step != test.want[0] {
			t.Errorf("%q: steps %v, want %v", test.texts, got, test.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func watchOf(s nemb.Sensor) *watch {
	if p, is := s.(*powered); is {
		return p.watch
	}
	return s.(*counting).watch
}

// What failed is told after the run, with the reason.
func TestDoubts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counter")
	for _, unit := range []string{"W", "Wh"} {
		if err := os.WriteFile(path, []byte("10"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := open(nemb.Root{Dir: t.TempDir()}, meterOf(t, "wall,unit="+unit+",error=1%,exec:cat "+path))
		if err != nil {
			t.Fatal(err)
		}
		at := checkpoint.Monotime()
		watchOf(s).now = func() checkpoint.Instant { return at }
		dst := make([]nemb.Energy, 1)
		for i, text := range []string{"10", "n/a", "n/a", "10"} {
			at += 1e9
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.Read(dst); (err == nil) != (text == "10") {
				t.Errorf("%s %d: %v", unit, i, err)
			}
		}
		notes := s.(nemb.Doubting).Doubts()
		if want := "wall: 2 of 5 readings of the meter exec:cat " + path + " failed, the last: it shows \"n/a\": want a number in " + unit; len(notes) != 1 || !notes[0].Doubt || notes[0].Text != want {
			t.Errorf("%+v, want %s", notes, want)
		}
		s.Close()
		if err := s.Read(dst); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	}
}

// An amount of error is a part of the mean power of a run, whatever the meter has shown before.
func TestBoundsOfARun(t *testing.T) {
	values := []float64{100, 100, 100, 10, 10, 20}
	w := &watch{display: listed{&values}, domain: nemb.Domain{ID: "wall", Lo: 1, Hi: 1}, now: func() checkpoint.Instant { return 0 }}
	s := newPowered(w, nemb.Meter{Period: time.Second, ErrorAmount: 1})
	defer s.Close()
	look := func() [2]float64 {
		if _, err := w.ask(); err != nil {
			t.Fatal(err)
		}
		return s.Bounds()[0]
	}
	if b := look(); b != [2]float64{0.99, 1.01} {
		t.Error(b)
	}
	look()
	look()
	if b := look(); b[1] > 1.02 { // 1 W of 77 W
		t.Error(b)
	}
	s.Begin()
	if b := s.Bounds()[0]; b != [2]float64{0.9, 1.1} { // what it showed last: 10 W
		t.Error(b)
	}
	look()
	if b := look(); b != [2]float64{1 - 3.0/40, 1 + 3.0/40} { // 10, 10 and 20 W
		t.Error(b)
	}
}

// listed is a display of values, one after the other.
type listed struct{ left *[]float64 }

func (s listed) read() (reading, error) {
	v := (*s.left)[0]
	*s.left = (*s.left)[1:]
	return reading{value: v}, nil
}

func (s listed) close() {}
