package sampler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// numbered is sample k of a series in which every figure follows from k.
func numbered(k uint64, domains int) nemb.Sample {
	s := nemb.Sample{At: checkpoint.Tick(3 * k), Time: checkpoint.Instant(5 * k), Gap: k%7 == 0, Failed: k%11 == 0}
	s.Usage = account.Usage{Program: time.Duration(7 * k), Own: time.Duration(11 * k), Other: time.Duration(13 * k)}
	for d := range domains {
		s.Energy = append(s.Energy, nemb.Energy(k*uint64(d+17)))
	}
	return s
}

var ringDomains = []nemb.Domain{
	{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true},
	{ID: "core-0", Kind: "nested", Method: nemb.Measured},
	{ID: strings.Repeat("long", 30), Kind: "gpu", Method: nemb.Estimated, InTotal: true},
}

// A reader beside a writer that runs as fast as it can sees whole samples
// only, in order, and knows how many it missed.
func TestRingUnderAWriter(t *testing.T) {
	w, err := newRing(ringDomains, checkpoint.Monotonic, time.Millisecond, ringSlots, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	r, err := OpenRing(w.path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.Domains) != 3 || r.Domains[0] != ringDomains[0] || r.Domains[1] != ringDomains[1] || r.Domains[2].ID != ringDomains[2].ID[:63] ||
		r.Clock != checkpoint.Monotonic || r.Interval != time.Millisecond || r.PID != os.Getpid() {
		t.Errorf("%+v", r)
	}
	if said := r.memory[ringHeader+3*ringDomain : r.at]; !strings.HasPrefix(string(said), `{"writer":"/`) || said[len(said)-1] != 0 || !json.Valid(bytes.TrimRight(said, "\x00")) {
		t.Errorf("it says of itself %q", said)
	}
	if _, ok := r.Latest(); ok || r.Next() != nil || r.Ended() {
		t.Error("samples before the first")
	}
	const n = 1_000_000
	go func() {
		for k := range uint64(n) {
			w.add(numbered(k, 3))
		}
		w.end()
	}()
	got, lost, next := 0, uint64(0), uint64(0)
	for {
		ended := r.Ended()
		for _, s := range r.Next() {
			k := uint64(s.At) / 3
			want := numbered(k, 3)
			want.Gap = want.Gap || k > next // the writer went round
			if k < next || fmt.Sprintf("%+v", s) != fmt.Sprintf("%+v", want) {
				t.Fatalf("after %d: %+v, want %+v", next, s, want)
			}
			next = k + 1
			got++
		}
		if s, ok := r.Latest(); ok && uint64(s.Time) != uint64(s.At)/3*5 {
			t.Fatalf("torn: %+v", s)
		}
		if ended {
			break
		}
	}
	lost = r.Lost
	if uint64(got)+lost != n || next != n {
		t.Errorf("%d read and %d lost of %d, the last %d", got, lost, n, next)
	}
	t.Logf("%d read, %d lost", got, lost)
	if s, ok := r.Latest(); !ok || s.At != 3*(n-1) {
		t.Errorf("the latest is %+v", s)
	}
	late, err := OpenRing(w.path())
	if err != nil {
		t.Fatal(err)
	}
	if all := late.Next(); len(all) != ringSlots || late.Lost != 0 {
		t.Errorf("a late reader has %d, lost %d", len(all), late.Lost)
	}
	if late.Close() != nil || late.Close() == nil {
		t.Error("closed once and twice")
	}
}

// What readers are told of a program stands in the ring before it starts, however many
// domains and digits there are.
func TestRingDivides(t *testing.T) {
	var domains []nemb.Domain
	for i := range 40 {
		domains = append(domains, nemb.Domain{ID: fmt.Sprint("package-", i), Kind: "cpu_package", InTotal: true})
	}
	w, err := newRing(domains, checkpoint.Monotonic, time.Millisecond, 16, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	about := func() string { text, _, _ := strings.Cut(string(w.memory[w.about:w.at]), "\x00"); return text }
	if strings.Contains(about(), "division") {
		t.Error(about())
	}
	divided := slices.Clone(domains)
	for i := range divided {
		d := &divided[i]
		d.Program, d.Base, d.BaseLo, d.BaseHi, d.IdleShare, d.IdleShareMost = true, 100./3, 200./7, 1e-7/3, 1./3, 2./3
	}
	// What earlier runs measured counts where nothing was measured before this one; what they bound does not.
	divided[0] = nemb.Domain{Remembered: nemb.IdlePower{Power: 3, Lo: 2, Hi: 4, Method: nemb.IdleRemembered}}
	divided[1] = nemb.Domain{Remembered: nemb.IdlePower{Power: 5, Hi: 5, Method: nemb.IdleBound}, IdleShare: .25}
	divided[2].Remembered = nemb.IdlePower{Power: 7, Lo: 6, Hi: 8, Method: nemb.IdleRemembered}
	if err := w.divide(domains, Division{Domains: divided, Processors: 4096, Grain: time.Second}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"division":{"processors":4096,"grain_ns":1000000000}`, `"base_lo_w":28.571428571428573,`,
		`"base_w":3,"base_lo_w":2,"base_hi_w":4}`, `"hi":1,"idle_share":0.25}`, `"program":true`, `"idle_share":0.3333333333333333,"idle_share_most":0.6666666666666666}`} {
		if !strings.Contains(about(), want) {
			t.Errorf("no %s in %s", want, about())
		}
	}
	if _, err := parseRing(w.memory); err != nil {
		t.Error(err)
	}
}

// Where nobody knows what others use, readers are told idle powers by which the program may have nothing of a counter's
// energy (shares.json); of a model's and of its own it has what it has.
func TestRingDoubtsOthers(t *testing.T) {
	domains := []nemb.Domain{
		{ID: "none", Method: nemb.Measured}, {ID: "share", Method: nemb.Measured, IdleShare: 0.25, IdleShareMost: 0.5},
		{ID: "base", Method: nemb.Derived, Base: 3, BaseLo: 2, BaseHi: 4},
		{ID: "before", Method: nemb.Measured, Remembered: nemb.IdlePower{Power: 3, Lo: 2, Hi: 4, Method: nemb.IdleRemembered}},
		{ID: "model", Method: nemb.Estimated, Base: 3}, {ID: "own", Method: nemb.Measured, Program: true},
	}
	text, err := aboutRing(domains, &Division{Domains: domains, Processors: 4, OthersUnknown: true}, nil)
	var told struct{ Domains []aboutDomain }
	if err := errors.Join(err, json.Unmarshal(text, &told)); err != nil {
		t.Fatal(err)
	}
	want := [][3]float64{{0, 1e-9, 1}, {0, 0.25, 1}, {anyWatts, 0, 0}, {anyWatts, 0, 0}, {}, {}}
	for i, d := range told.Domains {
		if got := [3]float64{d.BaseHiW, d.IdleShare, d.IdleShareMost}; got != want[i] {
			t.Errorf("%s: %v, want %v", d.ID, got, want[i])
		}
	}
}

// Another process reads what the sampler shares, and cannot write it.
func TestSamplerShares(t *testing.T) {
	root := zoneTreeAt(t, t.TempDir(), "7000000")
	s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.Share()
	if again, err2 := s.Share(); err != nil || err2 != nil || again != path {
		t.Fatal(path, again, err, err2)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "NEMB_CHILD=ring")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		var text [200]byte
		n, _ := out.Read(text[:])
		done <- string(text[:n])
	}()
	var samples []nemb.Sample
	for len(samples) < 30 {
		samples = append(samples, s.Poll()...)
		time.Sleep(time.Millisecond)
	}
	zoneTreeAt(t, root.Dir, "7000500")
	samples = append(samples, s.Stop()...)
	last := samples[len(samples)-1]
	if got, want := <-done, fmt.Sprintf("package-0: %d samples, 0 lost, 500 uJ at %d\n", len(samples), last.Time); got != want {
		t.Errorf("the other process says %q, want %q", got, want)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := OpenRing(path); err == nil {
		t.Error("still shared")
	}
	if path, err := FindRing(os.Getpid()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(path, err)
	}
	if _, err := FindRing(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	s.Close()
}

// readShared is the other process.
func readShared() {
	path, err := FindRing(os.Getpid())
	if err != nil {
		fmt.Println(err)
		return
	}
	if fd, err := unix.Open(path, unix.O_RDWR, 0); err == nil {
		if _, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			fmt.Println("can be mapped for writing")
			return
		}
		if _, err := unix.Pwrite(fd, []byte("x"), 0); err == nil {
			fmt.Println("can be written")
			return
		}
		unix.Close(fd)
	}
	r, err := OpenRing(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	n := 0
	for {
		ended := r.Ended()
		n += len(r.Next())
		if ended {
			break
		}
		time.Sleep(time.Millisecond)
	}
	last, _ := r.Latest()
	fmt.Printf("%s: %d samples, %d lost, %d uJ at %d\n", r.Domains[0].ID, n, r.Lost, last.Energy[0], last.Time)
}

// A reader knows when the writer is gone without a word.
func TestRingOfAKilledWriter(t *testing.T) {
	w, err := newRing(ringDomains, checkpoint.Monotonic, time.Second, ringSlots, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	*word(w.memory, 40) = 1 << 30 // more than a pid can be
	r, err := OpenRing(w.path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Ended() {
		t.Error("it goes on")
	}
}

func TestRingRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"short": "CGSAMPLE", "other": strings.Repeat("x", 200)} {
		os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
	for name, want := range map[string]string{"short": "8 bytes: not a sample ring", "other": "not a sample ring", "none": "no such file"} {
		if _, err := OpenRing(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := OpenRing(dir); err == nil {
		t.Error("a folder is a ring")
	}
}

// Whatever lies in a file, a reader stays inside it and comes to an end.
func FuzzRing(f *testing.F) {
	w, err := newRing(ringDomains[:1], checkpoint.Monotonic, time.Second, ringSlots, nil)
	if err != nil {
		f.Fatal(err)
	}
	w.add(numbered(0, 1))
	w.add(numbered(1, 1))
	head := strings.Clone(string(w.memory[:w.at+3*w.stride]))
	w.close()
	f.Add([]byte(head), uint32(3))
	f.Add([]byte(head), uint32(ringSlots))
	f.Add([]byte(ringMagic), uint32(0))
	f.Fuzz(func(t *testing.T, text []byte, slots uint32) {
		memory := make([]byte, (max(len(text), 64)+7)/8*8)
		copy(memory, text)
		if slots != 0 {
			*word(memory, 24) = *word(memory, 24)&^(1<<32-1) | uint64(slots)
		}
		r, err := parseRing(memory)
		if err != nil {
			return
		}
		r.Next()
		r.Latest()
	})
}

func TestRingVersion(t *testing.T) {
	w, err := newRing(ringDomains, checkpoint.Monotonic, time.Second, ringSlots, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	*word(w.memory, 8) = *word(w.memory, 8)&^0xff | 9
	if _, err := OpenRing(w.path()); err == nil || !strings.Contains(err.Error(), "version 9 of the sample ring: this is version 1") {
		t.Error(err)
	}
	if errors.Is(err, errNoRing) {
		t.Error(err)
	}
}

// BenchmarkRing is what a sample costs to share, with three domains.
func BenchmarkRing(b *testing.B) {
	w, err := newRing(ringDomains, checkpoint.Monotonic, time.Second, ringSlots, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer w.close()
	s := numbered(1, 3)
	for range b.N {
		w.add(s)
	}
}
