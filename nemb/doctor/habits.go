package doctor

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"cg/nemb"
	"cg/nemb/habits"
)

// Square puts the load of habits.Lengths on the GPU of a UUID, in a process of its own, and tells when it was busy.
type Square func(uuid string) ([]habits.Busy, error)

// after is how long readings are still watched when the load is over.
const after = 500 * time.Millisecond

// HabitsOfGPU is what a load showed of a GPU.
type HabitsOfGPU struct {
	Device   nemb.Device
	Readings map[string]habits.Fitted
}

// Habits finds how the readings of NVIDIA's GPUs follow their power, with a load on those that nobody holds, all at
// once. It adds a finding for each reading, or why there is none, to the diagnosis.
func (d *Diagnosis) Habits(root nemb.Root, square Square) (found []HabitsOfGPU) {
	var sensors []nemb.Sensor
	for _, source := range nemb.Sources() {
		if source.Occupied { // GPUs
			opened, _ := nemb.OpenSource(root, source.Name) // what prevents it is told by GPUs
			sensors = append(sensors, opened...)
		}
	}
	all := make([]habitsOf, len(sensors))
	var asked sync.WaitGroup
	for i, s := range sensors {
		defer s.Close()
		if h, ok := s.(nemb.Habitual); ok {
			asked.Go(func() { all[i] = watchSquare(h, square) })
		}
	}
	asked.Wait()
	for i, s := range sensors {
		if h, ok := s.(nemb.Habitual); ok {
			if readings := d.habitsOfGPU(s.Domains()[0].ID, h.Counted(), all[i]); len(readings) > 0 {
				found = append(found, HabitsOfGPU{h.Device(), readings})
			}
		}
	}
	return found
}

// habitsOf are the habits of one GPU's readings.
type habitsOf struct {
	busy   []habits.Busy
	traces []habits.Trace
	err    error
	held   int // processes that hold it
}

// watchSquare watches a GPU's readings while the load runs on it.
func watchSquare(h nemb.Habitual, square Square) (r habitsOf) {
	if o, ok := h.(nemb.Occupied); ok {
		if r.held = len(o.Occupants().Contexts); r.held > 0 {
			return r
		}
	}
	stop, traces := make(chan struct{}), make(chan []habits.Trace, 1)
	go func() { traces <- habits.Record(h.Readings(), stop) }()
	r.busy, r.err = square(h.Device().UUID)
	if r.err == nil {
		time.Sleep(after)
	}
	close(stop)
	r.traces = <-traces
	return r
}

// readingNames are what readings are called.
var readingNames = map[string]string{"energy": "counter of energy", "power": "power",
	"average_power": "power that is said to be an average"}

// habitsOfGPU tells what was found of a GPU. counted is the reading that its energy comes from.
func (d *Diagnosis) habitsOfGPU(id, counted string, r habitsOf) map[string]habits.Fitted {
	const unknown = "over how long a time it takes the mean of powers, and which part of the time it samples, " +
		"is not known"
	switch {
	case r.held > 0:
		d.add("habits", Remark, "", "%s: %d processes hold it, so no load was put on it: %s", id, r.held, unknown)
		return nil
	case r.err != nil:
		d.add("habits", Remark, "", "%s: no load could be put on it (%v): %s", id, r.err, unknown)
		return nil
	}
	found := map[string]habits.Fitted{}
	for _, t := range r.traces {
		f, err := habits.Fit(r.busy, t)
		name := readingNames[t.Name]
		switch {
		case errors.Is(err, habits.ErrFew):
			d.add("habits", Remark, "", "%s: its %s changed too rarely under the load (%v)", id, name, err)
			continue
		case err != nil:
			d.add("habits", Warning, "", "%s: its %s did not follow the load: what it is the mean of is not known; "+
				"on a busy machine, try again", id, name)
			continue
		}
		found[t.Name] = f
		use := ""
		if t.Name == counted {
			use = "; intervals of its energy have it"
		}
		d.add("habits", Fine, "", "%s: its %s is told each %s: the mean of %s, which ended %s before%s%s", id, name,
			milliseconds(f.Period), within(f.Window, f.WindowOff), within(f.Delay, f.DelayOff), sampledPart(f), use)
	}
	return found
}

// sampledPart says which part of the time a reading samples.
func sampledPart(f habits.Fitted) string {
	if f.Window+f.WindowOff >= f.Period {
		return ""
	}
	return fmt.Sprintf(", so that %.0f %% of the time is sampled", 100*float64(f.Window)/float64(f.Period))
}

func milliseconds(t time.Duration) string {
	return fmt.Sprintf("%.3g ms", float64(t)/float64(time.Millisecond))
}

func within(t, off time.Duration) string {
	return fmt.Sprintf("%.0f ms (+-%.0f)", float64(t)/float64(time.Millisecond), float64(off)/float64(time.Millisecond))
}
