package nvml

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"cg/nemb"
	"cg/nemb/dcgm"
)

// dcgmVariable is the environment variable with the address of DCGM's host engine, or off.
const dcgmVariable = "CG_DCGM"

// dcgmPeriod is how often DCGM measures for cg, in microseconds: as often as cg asks a GPU. It goes down to 100 ms.
const dcgmPeriod = 250_000

// byDCGM is the activity that DCGM tells.
type byDCGM struct {
	engine *dcgm.Engine
	watch  *dcgm.Watch
	gpu    *gpu
	uuid   string
	all    []dcgm.Instance
	until  uint64         // up to when there are samples, us since 1970
	last   map[int]uint64 // of each instance
	ahead  []dcgm.Sample  // those of later
}

// lag is how far an instance's newest sample may be behind those of others for it to be waited for, in microseconds.
const lag = 4 * dcgmPeriod

// errUnknown says that DCGM does not know the instances: its engine does not see the GPU as NVML does, or not yet.
var errUnknown = errors.New("dcgm: the engine knows no instance of the GPU, and the driver lists some")

// newDCGM connects to DCGM: below a root that is not the live machine to that in its folder lib. known are the
// instances that NVML lists.
func newDCGM(folder, uuid string, g *gpu, known []int) (activity, error) {
	address := os.Getenv(dcgmVariable)
	if address == "off" {
		return nil, fmt.Errorf("dcgm: %s is off", dcgmVariable)
	}
	engine, err := dcgm.Open(dcgm.Where{Library: folder, Address: address, Embedded: os.Geteuid() == 0})
	if err != nil {
		return nil, err
	}
	d := &byDCGM{engine: engine, gpu: g, uuid: uuid}
	if d.all, err = engine.Instances(uuid); err == nil && len(d.all) > 0 {
		err = d.look()
	} else if err == nil && len(known) > 0 {
		err = errUnknown
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// look begins to measure the instances.
func (d *byDCGM) look() (err error) {
	d.watch, err = d.engine.Watch(fmt.Sprintf("cg-%d-%s", os.Getpid(), d.gpu.id), d.all, dcgmPeriod)
	d.until, d.last, d.ahead = 0, map[int]uint64{}, nil
	return err
}

func (d *byDCGM) method() string { return nemb.DCGMInstances }

func (d *byDCGM) close() {
	if d.watch != nil {
		d.watch.Close()
	}
	d.engine.Close()
}

func (d *byDCGM) since(known []int, micros uint64) (told []active, from, to uint64, err error) {
	now, err := d.engine.Instances(d.uuid)
	if err == nil && len(now) == 0 && len(known) > 0 {
		err = errUnknown
	}
	if err != nil {
		return nil, 0, 0, err
	}
	if !slices.Equal(now, d.all) { // instances were made or destroyed
		if d.watch != nil {
			d.watch.Close()
		}
		if d.all, d.watch = now, nil; len(now) > 0 {
			err = d.look()
		}
	}
	if d.watch == nil || err != nil { // nothing can run
		from, d.until = cmp.Or(d.until, micros), micros
		return nil, from, micros, err
	}
	samples, err := d.watch.Since()
	if err != nil {
		return nil, 0, 0, err
	}
	if d.until == 0 { // what other tools had measured before, and the time that began before
		d.until = micros
	}
	samples = append(d.ahead, samples...)
	from, to = d.until, max(d.until, min(micros, reach(samples, d.all, d.until)))
	told = means(samples, d.all, from, to, d.last)
	d.until = to
	d.ahead = slices.DeleteFunc(samples, func(s dcgm.Sample) bool { return uint64(s.At) <= to })
	return told, from, to, nil
}

// reach is up to when there are samples of all instances but those that lag.
func reach(samples []dcgm.Sample, all []dcgm.Instance, from uint64) uint64 {
	newest, most := map[int]uint64{}, from
	for _, s := range samples {
		newest[s.ID], most = max(newest[s.ID], uint64(s.At)), max(most, uint64(s.At))
	}
	to := most
	for _, in := range all {
		if of := max(from, newest[in.ID]); of+lag > most {
			to = min(to, of)
		}
	}
	return to
}

// means is how active each instance was between two moments: the mean of its samples, each of which is of the time
// since the one before. last keeps the last of each instance that was before the end.
func means(samples []dcgm.Sample, all []dcgm.Instance, from, to uint64, last map[int]uint64) (told []active) {
	slices.SortFunc(samples, func(a, b dcgm.Sample) int { return cmp.Compare(a.At, b.At) })
	for _, in := range all {
		a := active{id: in.ID, slices: in.Slices, engine: math.NaN(), sms: math.NaN()}
		until := last[in.ID]
		for _, of := range []struct {
			sms  bool
			mean *float64
		}{{false, &a.engine}, {true, &a.sms}} {
			sum, length, before := 0.0, 0.0, max(from, last[in.ID])
			for _, s := range samples {
				at := uint64(s.At)
				if s.ID != in.ID || s.SMs != of.sms || at <= before || before >= to {
					continue
				}
				part := float64(min(at, to) - before)
				sum, length, before = sum+part*s.Value, length+part, min(at, to)
				if at <= to {
					until = max(until, at)
				}
			}
			if length > 0 {
				*of.mean = sum / length
			}
		}
		last[in.ID] = until
		told = append(told, a)
	}
	return told
}

// dcgmFolder is where DCGM's library is looked for below a root; "" for the linker's.
func dcgmFolder(root nemb.Root) string {
	if root.Dir == "" {
		return ""
	}
	return filepath.Join(root.Dir, "lib")
}
