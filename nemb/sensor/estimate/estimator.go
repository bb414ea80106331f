// Package estimate computes what a machine draws where nothing measures it: from the kind
// of its processors, or from two readings of a meter (Calibration), and from how busy they
// are. It computes the part of a program's memory, too.
package estimate

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/processor"
)

// name is that of the source.
const name = "estimate"

func init() {
	nemb.Register(nemb.Source{Name: name, Open: openEstimator, Rank: 30, Opened: nemb.IfUnmeasured, Alone: true,
		Metric: "estimate"})
}

// Of a CPU that is not in the table: W per hardware thread, medians over ten
// generations of EPYC and Xeon (.22 to .90 idle, 1.2 to 4.2 busy).
const (
	unknownIdle = 0.55
	unknownMax  = 3.1
)

// estimator is the model of a machine without sensors: a base power while the
// machine is on and a power for each busy processor, linear. It measures
// nothing; its bounds are the published band of 95 %.
type estimator struct {
	domain nemb.Domain
	busy   float64 // W that one busy processor adds

	mu    sync.Mutex
	stat  *account.Account // for Read; nil until the first
	start checkpoint.Instant
	done  bool
}

func openEstimator(root nemb.Root) ([]nemb.Sensor, error) {
	cpu := root.CPU()
	if cpu.Processors == 0 {
		return nil, fmt.Errorf("estimate: %s lists no processors: %w", root.Proc("cpuinfo"), fs.ErrNotExist)
	}
	calibration, known, err := Calibrated(cpu)
	if err != nil {
		return nil, fmt.Errorf("estimate: %s", err)
	}
	e := newEstimator(cpu)
	if known {
		e.calibrate(cpu, calibration)
	}
	return []nemb.Sensor{e}, nil
}

// calibrate replaces the table's powers by those of a meter.
func (e *estimator) calibrate(cpu processor.CPU, c Calibration) {
	d := &e.domain
	d.Base, e.busy = c.Idle, (c.Load-c.Idle)/float64(cpu.Processors)
	d.Lo, d.Hi = 1-calibratedBand, 1+calibratedBand
	d.Source = fmt.Sprintf("estimate: %g W idle to %g W busy, calibrated %s by %s", c.Idle, c.Load,
		c.Made.Format(time.DateOnly), c.Meter)
}

func newEstimator(cpu processor.CPU) *estimator {
	e := &estimator{domain: nemb.Domain{
		ID: "machine", Kind: "psys", Method: nemb.Estimated, Period: account.Tick, InTotal: true,
	}}
	d := &e.domain
	if cpu.March == "" {
		n := float64(cpu.Processors)
		d.Base, e.busy = unknownIdle*n, unknownMax-unknownIdle
		d.Lo, d.Hi = 0.3, 3 // from the lowest generation's figures to the highest's
		d.Source = fmt.Sprintf("estimate: %s not in the table, %d threads, wall power by SPECpower medians per thread",
			cpu, cpu.Processors)
		return e
	}
	p := cpu.Era()
	d.Lo, d.Hi = 0.5, 1.5
	what := fmt.Sprintf("estimate: %s %d, ", cpu.March, cpu.Year)
	if cpu.Virtual {
		perThread := cpu.TDP / float64(cpu.Threads)
		d.Base = p.Idle.Median * perThread * float64(cpu.Processors)
		e.busy = (p.Max.Median - p.Idle.Median) * perThread
		d.Source = what + fmt.Sprintf("%d of %d threads, %g W TDP, wall power by SPECpower medians", cpu.Processors,
			cpu.Threads, cpu.TDP)
		return e
	}
	tdp := cpu.TDP * float64(max(1, cpu.Sockets))
	d.Base = p.Idle.Median * tdp
	e.busy = (p.Max.Median - p.Idle.Median) * tdp / float64(cpu.Processors)
	d.Source = what + fmt.Sprintf("%d x %g W TDP, wall power by SPECpower medians", max(1, cpu.Sockets), cpu.TDP)
	return e
}

func (e *estimator) Domains() []nemb.Domain { return []nemb.Domain{e.domain} }

// Model is the base power, and that of the busy processors.
func (e *estimator) Model(elapsed, busy time.Duration) nemb.Energy {
	return nemb.Energy(1e6 * (e.domain.Base*elapsed.Seconds() + e.busy*busy.Seconds()))
}

// Read estimates the energy since the first Read, from the host's busy time.
func (e *estimator) Read(dst []nemb.Energy) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return fmt.Errorf("estimate: %w", fs.ErrClosed)
	}
	if e.stat == nil {
		e.stat, e.start = account.New(), checkpoint.Monotime()
		if !e.stat.KnowsHost() {
			return errors.New("estimate: /proc/stat cannot be opened")
		}
	}
	u := e.stat.Read()
	dst[0] = e.Model(time.Duration(checkpoint.Monotime()-e.start), u.Own+u.Other)
	return nil
}

func (e *estimator) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = true
	if e.stat == nil {
		return nil
	}
	return e.stat.Close()
}
