package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cg/long"
)

// The distance is that of the definition, at the cut where it is largest.
func TestStepsByDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for range 50 {
		values := make([]float64, 6+random.IntN(30))
		for i := range values {
			values[i] = math.Round(10 * random.NormFloat64()) // some are equal
		}
		mean := func(a, b []float64, n float64) (sum float64) {
			for _, x := range a {
				for _, y := range b {
					sum += math.Abs(x - y)
				}
			}
			return sum / n
		}
		want, at := 0.0, 0
		for end := 2 * leastStretch; end <= len(values); end++ {
			for cut := leastStretch; cut <= end-leastStretch; cut++ {
				x, y := values[:cut], values[cut:end]
				a, b := float64(len(x)), float64(len(y))
				q := a * b / (a + b) * (2*mean(x, y, a*b) - mean(x, x, a*(a-1)) - mean(y, y, b*(b-1)))
				if q > want+1e-9 {
					want, at = q, cut
				}
			}
		}
		s := newStretch(0, values)
		if math.Abs(s.distance-want) > 1e-9*(1+want) || s.cut != at {
			t.Errorf("%v: %g at %d, not %g at %d", values, s.distance, s.cut, want, at)
		}
	}
}

func TestSteps(t *testing.T) {
	level := func(parts ...[2]float64) (out []float64) {
		for _, p := range parts {
			for i := range int(p[0]) {
				out = append(out, p[1]+0.001*float64(i*7%5)) // which is no step
			}
		}
		return out
	}
	for what, c := range map[string]struct {
		values []float64
		want   []int
	}{
		"nothing":         {nil, nil},
		"too few":         {level([2]float64{2, 1}, [2]float64{2, 9}), nil},
		"all alike":       {slices.Repeat([]float64{4}, 40), nil},
		"level":           {level([2]float64{40, 1}), nil},
		"a step":          {level([2]float64{20, 1}, [2]float64{20, 2}), []int{20}},
		"there and back":  {level([2]float64{20, 1}, [2]float64{12, 2}, [2]float64{20, 1}), []int{20, 32}},
		"three":           {level([2]float64{15, 1}, [2]float64{15, 2}, [2]float64{15, 3}, [2]float64{15, 4}), []int{15, 30, 45}},
		"at the end":      {level([2]float64{30, 1}, [2]float64{4, 2}), []int{30}},
		"an outlier":      {level([2]float64{20, 1}, [2]float64{1, 9}, [2]float64{20, 1}), nil},
		"exact, a step":   {slices.Concat(slices.Repeat([]float64{7}, 9), slices.Repeat([]float64{8}, 9)), []int{9}},
		"exact, too few":  {[]float64{7, 7, 7, 8, 8, 8}, nil},
		"an outlier late": {append(level([2]float64{30, 1}), 5), nil},
	} {
		var at []int
		for _, s := range Steps(c.values, 0.01) {
			at = append(at, s.At)
			if !(s.P > 0 && s.P <= 0.01) {
				t.Errorf("%s: p is %g", what, s.P)
			}
		}
		if !slices.Equal(at, c.want) {
			t.Errorf("%s: steps at %v, not %v", what, at, c.want)
		}
	}
}

// What cg trend promises: histories of 300 commits, each a check of six pairs of runs that
// spread by 5 %.
func TestPromiseSteps(t *testing.T) {
	histories := long.Rounds(t, 20, 100)
	for _, change := range []float64{0, 0.02, 0.05, 0.1} {
		t.Run(fmt.Sprintf("%g", 100*change), func(t *testing.T) {
			t.Parallel()
			promiseSteps(t, change, histories)
		})
	}
}

func promiseSteps(t *testing.T, change float64, histories int) {
	const commits, pairs, spread, near = 300, 6, 0.05, 20
	random := rand.New(rand.NewPCG(5, uint64(1000*change)))
	found, exact, more := 0, 0, 0
	var away []float64
	for range histories {
		planted := 30 + random.IntN(commits-60)
		values := make([]float64, commits)
		for i := range values {
			for range pairs {
				values[i] += spread * random.NormFloat64() / pairs
			}
			if i >= planted {
				values[i] += math.Log1p(change)
			}
		}
		steps := Steps(values, StepAlpha)
		if change == 0 {
			planted = -1
		} else if len(steps) > 0 {
			nearest := math.Inf(1)
			for _, s := range steps {
				nearest = min(nearest, math.Abs(float64(s.At-planted)))
			}
			if nearest <= near { // one that is further away is none that was planted
				found++
				away = append(away, nearest)
				steps = steps[1:]
			}
			if nearest == 0 {
				exact++
			}
		}
		if len(steps) > 0 {
			more++
		}
	}
	part := func(n int) float64 { return 100 * float64(n) / float64(histories) }
	text := fmt.Sprintf("+%g %%: %d histories, %.0f %% have a step that was not planted", 100*change, histories, part(more))
	if change > 0 {
		text += fmt.Sprintf("; found in %.0f %%, exactly in %.0f %%, half of them within %.0f commits", part(found),
			part(exact), Median(away))
	}
	t.Log(text)
	if part(more) > 5 {
		t.Error("more than 5 % have a step where none is")
	}
	if change > 0 && part(found) < 90 {
		t.Error("less than 90 % are found")
	}
	if change == 0.1 && part(exact) < 90 {
		t.Error("less than 90 % are named exactly")
	}
}

func BenchmarkSteps(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 5))
	values := make([]float64, 300)
	for i := range values {
		values[i] = random.NormFloat64()
		if i > 200 {
			values[i] += 5
		}
	}
	for b.Loop() {
		Steps(values, StepAlpha)
	}
}
