package regression

import "math"

// Times that are a sample are blurred: they scatter around the true ones from block to block. A
// regression takes the scatter for what the function did, and its power comes out nearer to the
// mean than it is (attenuation; Fuller, Measurement Error Models, 1987, section 1.1), by the
// part of the times' spread that is scatter.

// leastReliable is the part of the spread of a column's times that must be its own.
const leastReliable = 0.5

// Blur says that times are a sample, and by what variance the times of functions are off: in
// square nanoseconds, summed over the run. No function then has contexts with powers of their
// own. Before Fits.
func (d *Data) Blur(variance map[Column]float64) {
	for _, c := range d.collectors {
		c.blur = variance
	}
}

// blur widens the interval of a column by what its power may be nearer to the mean than it is,
// or finds that its times tell nothing.
func (r *regression) blur(k int, e *Estimate) {
	if r.c.blur == nil || k == r.pool {
		return
	}
	reliable := 1 - r.c.blur[r.columns[k]]*1e-12/max(r.spread(k, each), 1e-300)
	if reliable < leastReliable {
		e.Reason = Noisy
		return
	}
	off := math.Abs(e.Energy-r.mean*r.total[k]*1e3) * (1/reliable - 1)
	e.HalfWidth += off
	e.Blur = off
	if e.Reason == Resolved && e.HalfWidth > Unsure*e.Energy {
		e.Reason = Noisy
	}
}

// each is for how much a block counts, where all count alike.
func each(int) float64 { return 1 }

// spread is how much the time of a column differs from its part of each block: the sum of
// squares, in square milliseconds, where block i counts for known(i).
func (r *regression) spread(k int, known func(i int) float64) (sum float64) {
	all := 0.0
	for _, t := range r.total {
		all += t
	}
	part := r.total[k] / max(all, 1e-300)
	x := make([]float64, r.width())
	for i := range r.c.blocks {
		r.dense(i, x)
		time := 0.0
		for _, t := range x {
			time += t
		}
		sum += known(i) * (x[k] - part*time) * (x[k] - part*time)
	}
	return sum
}
