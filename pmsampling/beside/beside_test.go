package beside

import (
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
	"cg/nemb/leaks"
	"cg/pmsampling"
	"cg/pmsampling/cupti"
	"cg/pmsampling/simulate"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// sample is one of a length, of two metrics.
func sample(from, length checkpoint.Instant, a, b float64) pmsampling.Timed {
	return pmsampling.Timed{From: from, To: from + length, Sample: pmsampling.Sample{Values: []float64{a, b}}}
}

// Means are over time, of samples that lie wholly inside; before those that are kept they are of points.
func TestWithin(t *testing.T) {
	s := Series{Recent: 8, Points: 4}
	for i := range checkpoint.Instant(16) {
		b := math.NaN()
		if i == 3 {
			b = 7
		}
		s.Add([]pmsampling.Timed{sample(i*10, 10, float64(i), b)})
	}
	for _, c := range []struct {
		from, to checkpoint.Instant
		mean     float64
		over     time.Duration
	}{
		{80, 160, 11.5, 80}, {81, 119, 9.5, 20}, {81, 89, 0, 0}, {150, 300, 15, 10}, {160, 300, 0, 0},
		{0, 160, 7.5, 160}, {0, 79, 1.5, 40}, {1, 80, 5.5, 40}, // points are of four samples
	} {
		got := s.Within(c.from, c.to)[0]
		if got.Over != c.over || got.Over > 0 && got.Mean != c.mean {
			t.Errorf("%d to %d: %+v, want %v over %v", c.from, c.to, got, c.mean, c.over)
		}
	}
	if all := s.Sums(); all[0] != (Sum{7.5, 0, 15, 160}) || all[1] != (Sum{7, 7, 7, 10}) {
		t.Errorf("%+v", all)
	}
	whole := s.Whole()
	if len(whole) != 4 || whole[0].From != 0 || whole[0].To != 40 || whole[0].Values[0] != 1.5 || whole[0].Values[1] != 7 ||
		!math.IsNaN(whole[1].Values[1]) {
		t.Errorf("%+v", whole)
	}
}

// However long a run is: the points are bounded, in their order, and their mean is that of the samples.
func TestPoints(t *testing.T) {
	s, sum := Series{Points: 100}, 0.0
	for i := range checkpoint.Instant(12345) {
		sum += float64(i % 7)
		s.Add([]pmsampling.Timed{sample(i*10, 10, float64(i%7), 0)})
	}
	total := 0.0
	for i, p := range s.Whole() {
		total += p.Values[0] * float64(p.To-p.From)
		if i > 0 && p.From != s.Whole()[i-1].To {
			t.Fatalf("%+v", p)
		}
	}
	if n := len(s.Whole()); n > 100 || n < 40 || math.Abs(total-10*sum) > 1e-6*total {
		t.Errorf("%d points, %g of %g", n, total, 10*sum)
	}
}

// begun samples two GPUs that do not exist.
func begun(t *testing.T, conf string) (*Recorder, error) { return claimed(t, conf, nil) }

// claimed does, of those that a claim leaves.
func claimed(t *testing.T, conf string, claim Claim) (*Recorder, error) {
	t.Helper()
	root := t.TempDir()
	conf = "gpus 2\nmetric sm__warps_active.avg.pct_of_peak_sustained_active counter sm percent 40\n" +
		"metric sm__cycles_active.avg.pct_of_peak_sustained_elapsed counter sm percent 80\nlive busy\n" + conf
	if err := simulate.CUPTI(root+"/lib", conf); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "lib/busy"), []byte("0 1e9 0.5\n0 1e9 1 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := cupti.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return Begin(l, pmsampling.Config{Trigger: pmsampling.GPUTimeInterval, Interval: 1e6, Metrics: []string{
		"sm__warps_active.avg.pct_of_peak_sustained_active", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}}, claim)
}

// GPUs that another samples are left out. Where it has all, that is no error; where it has one, and the other cannot be
// sampled, it is.
func TestClaims(t *testing.T) {
	released := 0
	elsewhere := func(all ...int) Claim {
		return func(d cupti.Device) (func(), error) {
			if slices.Contains(all, d.Index) {
				return nil, fmt.Errorf("rank 3 samples GPU %d: %w", d.Index, ErrElsewhere)
			}
			return func() { released++ }, nil
		}
	}
	const busy = "fail cuptiPmSamplingEnable 26\n"
	for _, test := range []struct {
		name, conf    string
		claim         Claim
		sampled, left int
		released      int // since others may have more luck
		fails         bool
	}{
		{"all are free", "", elsewhere(), 2, 0, 0, false},
		{"one is not", "", elsewhere(1), 1, 1, 0, false},
		{"none is", "", elsewhere(0, 1), 0, 2, 0, false},
		{"another program has the other", busy, elsewhere(1), 0, 2, 1, false},
		{"another program has them", busy, elsewhere(), 0, 0, 2, true},
		{"the claim fails", "", func(cupti.Device) (func(), error) { return nil, fs.ErrPermission }, 0, 0, 0, true},
	} {
		released = 0
		r, err := claimed(t, test.conf, test.claim)
		if released != test.released {
			t.Errorf("%s: %d released, want %d", test.name, released, test.released)
		}
		if test.fails || err != nil {
			if !test.fails || err == nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		r.Drain()
		if n := len(r.End()); n != test.sampled || len(r.Refused) != test.left {
			t.Errorf("%s: %d, refused %v", test.name, n, r.Refused)
		}
		if sums, known := r.Within("GPU-other", 0, 1); sums != nil || !known {
			t.Errorf("%s: %+v", test.name, sums)
		}
	}
}

// Each GPU has its own figures, by its UUID; what a GPU did is known once sampling has come so far.
func TestRecorder(t *testing.T) {
	r, err := begun(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Weight(); w != 1 {
		t.Errorf("weight %d", w)
	}
	begin := checkpoint.Monotime()
	far := begin + checkpoint.Instant(time.Hour)
	if _, known := r.Within(r.GPUs()[0].UUID, begin, far); known {
		t.Error("the future is known")
	}
	for until := checkpoint.Instant(0); until < begin+3e6; r.Drain() {
		_, until, _ = r.Since(1, begin)
	}
	all := r.End()
	for i, want := range [][2]float64{{20, 40}, {40, 80}} {
		g := all[i]
		sums, known := r.Within(g.UUID, begin, far)
		if !known || sums[0].Mean != want[0] || sums[1].Mean != want[1] || sums[0].Over < time.Millisecond || g.Fault != nil || g.Chip != "GH100" {
			t.Errorf("%d: %+v, %+v", i, sums, g)
		}
	}
	if sums, known := r.Within("GPU-other", begin, far); sums != nil || !known {
		t.Errorf("%+v", sums)
	}
	if len(r.End()) != 2 {
		t.Error("ended twice")
	}
}

// What was sampled before the program began, and after it ended, is not kept.
func TestOfProgram(t *testing.T) {
	r, err := begun(t, "")
	if err != nil {
		t.Fatal(err)
	}
	reach := func(at checkpoint.Instant) {
		for until := checkpoint.Instant(0); until < at; r.Drain() {
			_, until, _ = r.Since(0, 0)
		}
	}
	reach(checkpoint.Monotime() + 3e6)
	before := checkpoint.Monotime()
	r.Restart()
	from := checkpoint.Monotime()
	reach(from + 10e6)
	end := checkpoint.Monotime()
	r.Until(end)
	reach(end + 5e6)
	for _, g := range r.End() {
		for _, p := range g.Series.Whole() {
			if p.From < before || p.To > end {
				t.Errorf("%+v is outside of %v to %v", p, before, end)
			}
		}
		if over := g.Series.Sums()[0].Over; over <= 0 || over > time.Duration(end-before) {
			t.Errorf("%v of %v", over, end-before)
		}
	}
}

// What cannot be sampled is said; a GPU that fails ends alone.
func TestRefused(t *testing.T) {
	if _, err := begun(t, "fail cuptiPmSamplingEnable 26\n"); err == nil || !strings.Contains(err.Error(), "profiles this GPU") {
		t.Errorf("%v", err)
	}
	r, err := begun(t, "fail cuptiPmSamplingEnable 26 2\n")
	if err != nil || len(r.Refused) != 1 || len(r.GPUs()) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	r.End()
	if r, err = begun(t, "fail cuptiPmSamplingDecodeData 999 2\n"); err != nil {
		t.Fatal(err)
	}
	r.Drain()
	all := r.End()
	if all[0].Fault != nil || all[1].Fault == nil {
		t.Errorf("%v, %v", all[0].Fault, all[1].Fault)
	}
	if _, err := begun(t, "gpus 0\n"); err == nil || !strings.Contains(err.Error(), "the driver knows no GPU") {
		t.Errorf("%v", err)
	}
}
