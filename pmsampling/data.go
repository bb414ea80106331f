package pmsampling

import (
	"fmt"
	"iter"

	"cg/pmsampling/cupti"
)

// Sample is one interval.
type Sample struct {
	Start, End int64     // of the GPU's clock, nanoseconds
	Values     []float64 // one for each metric, NaN where the GPU does not tell it
}

// CounterData is what one decoding found. Its fields are all that another machine needs to evaluate it.
type CounterData struct {
	Image   []byte // CUPTI's; only it reads it
	Metrics []string
	Chip    string
	// Slots of the image, those with data, and the complete ones, which come first.
	Total, Populated, Completed int
	Starts, Ends                []int64 // of each complete sample
	Reason                      DecodeStopReason
	Overflow                    bool // the hardware buffer was full before

	evaluator Evaluating
}

// Evaluating computes values of samples from to to, without to: an Evaluator, or one in another process.
type Evaluating interface {
	Evaluate(d *CounterData, from, to int) ([]float64, error)
}

// Len is the number of complete samples.
func (d *CounterData) Len() int { return d.Completed }

// EvaluateWith sets who computes values of data that no collector of this process has decoded.
func (d *CounterData) EvaluateWith(e Evaluating) { d.evaluator = e }

// At is sample i; negative ones count from the end.
func (d *CounterData) At(i int) (Sample, error) {
	k := i
	if k < 0 {
		k += d.Completed
	}
	if k < 0 || k >= d.Completed {
		return Sample{}, value("there is no sample %d: there are %d", i, d.Completed)
	}
	all, err := d.Range(k, k+1)
	if err != nil {
		return Sample{}, err
	}
	return all[0], nil
}

// Range evaluates samples from to to, without to.
func (d *CounterData) Range(from, to int) ([]Sample, error) {
	if from < 0 || to < from || to > d.Completed || to > len(d.Starts) || to > len(d.Ends) {
		return nil, value("there are no samples %d to %d: there are %d", from, to, d.Completed)
	}
	if d.evaluator == nil {
		return nil, fmt.Errorf("pmsampling: nothing evaluates these counters: %w", cupti.ErrAbsent)
	}
	values, err := d.evaluator.Evaluate(d, from, to)
	if err != nil {
		return nil, err
	}
	all, m := make([]Sample, to-from), len(d.Metrics)
	for i := range all {
		all[i] = Sample{d.Starts[from+i], d.Ends[from+i], values[i*m : (i+1)*m : (i+1)*m]}
	}
	return all, nil
}

// batch is how many samples are evaluated at once.
const batch = 1024

// All yields each complete sample, evaluated. It ends with the first error.
func (d *CounterData) All() iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		for from := 0; from < d.Completed; from += batch {
			samples, err := d.Range(from, min(from+batch, d.Completed))
			if err != nil {
				yield(Sample{}, err)
				return
			}
			for _, s := range samples {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// Evaluator computes values of one chip. It needs the libraries and no GPU. It is for one goroutine at a time.
type Evaluator struct {
	l    *cupti.Library
	chip string
	host *cupti.Host // nil before the first use
}

// NewEvaluator makes one, which asks the library when it is first used.
func NewEvaluator(l *cupti.Library, chip string) *Evaluator { return &Evaluator{l: l, chip: chip} }

// Evaluate computes the values of samples from to to, without to.
func (e *Evaluator) Evaluate(d *CounterData, from, to int) ([]float64, error) {
	if d.Chip != e.chip {
		return nil, value("these counters are of chip %s, not %s", d.Chip, e.chip)
	}
	if e.host == nil {
		host, err := e.l.Host(e.chip, "", nil)
		if err != nil {
			return nil, err
		}
		e.host = host
	}
	return e.host.Evaluate(d.Image, d.Metrics, from, to-from)
}

// Close ends it.
func (e *Evaluator) Close() error {
	if e.host == nil {
		return nil
	}
	err := e.host.Close()
	e.host = nil
	return err
}
