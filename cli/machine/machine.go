// Package machine opens the machine that a command's flags name, with its sensors, and says what a run on it needs.
package machine

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/folders"
	"cg/experiment"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/habits"
	"cg/nemb/idle"
	"cg/runtimes"
	"cg/version"
)

// Opened is where a command measures, with its sensors open.
type Opened struct {
	Root  nemb.Root
	Found nemb.Found
}

// Open opens the sensors that --sensors and --sysroot name. The caller
// closes it. A signal that ends ctx ends it, too, whatever a sensor does.
func Open(ctx context.Context, c *cli.Context) (*Opened, error) {
	root, err := Root(c)
	if err != nil {
		return nil, err
	}
	want := c.StringSlice("sensors")
	m := &Opened{Root: root}
	type discovered struct {
		found nemb.Found
		err   error
	}
	found := make(chan discovered, 1)
	go func() {
		f, err := nemb.Discover(root, want)
		found <- discovered{f, err}
	}()
	select {
	case f := <-found:
		m.Found, err = f.found, f.err
	case <-ctx.Done():
		return nil, exit.With(128+int(exit.Interrupted(ctx)), "interrupted while the sensors were looked for")
	}
	switch {
	case errors.Is(err, nemb.ErrUnknownSource):
		return nil, exit.Usage("-s: %w", err)
	case err != nil:
		return nil, exit.Self("%w", err)
	case len(want) > 0 && len(m.Found.Sensors) == 0:
		m.Close()
		return nil, exit.Self("-s %s: none of these can be read here%s", strings.Join(want, ","),
			Because(slices.Concat(m.Found.Denied, m.Found.Hung)))
	}
	if folder, ok := HabitsFolder(); ok {
		if err := habits.Set(folder, m.Found.Sensors); err != nil {
			m.Found.Notes = append(m.Found.Notes, nemb.Note{Text: err.Error() +
				": what is published of such GPUs is used (cg doctor --gpu measures it anew)"})
		}
	}
	return m, nil
}

// HabitsFolder is where it is kept how the readings of GPUs follow their power; false without a cache.
func HabitsFolder() (runtimes.Cache, bool) {
	cache, _ := folders.Cache()
	folder, err := cache.Sub("gpus")
	return folder, err == nil
}

// Close closes the sensors.
func (m *Opened) Close() { m.Found.Close() }

// idleMemory is what is remembered of the machine's idle power, nil without a cache.
func (m *Opened) idleMemory() *idle.Memory {
	cache, _ := folders.Cache()
	folder, err := cache.Sub("idle")
	if err != nil {
		return nil
	}
	return idle.Open(folder, folder.Dir, idle.Here(m.Root))
}

// RecallIdle tells the sensors' domains what is remembered of their idle power.
func (m *Opened) RecallIdle() {
	memory := m.idleMemory()
	for _, s := range m.Found.Sensors {
		if a, ok := s.(nemb.Adjusting); ok {
			a.Adjust(func(d *nemb.Domain) { d.Remembered = memory.Recall(d.ID) })
		}
	}
}

// Root is the machine whose sensors are read.
func Root(c *cli.Context) (nemb.Root, error) {
	dir := ""
	for _, level := range c.Lineage() { // the command's own flag, else the global one
		if dir == "" {
			dir = level.String("sysroot")
		}
	}
	root := nemb.Root{BMC: nemb.BMC{URL: c.String("bmc-url"), TokenFile: c.String("bmc-token-file"),
		CA: c.String("bmc-ca")}, Meters: flags.MetersOf(c)}
	if dir == "" {
		return root, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nemb.Root{}, exit.Usage("--sysroot: %s is not a directory", dir)
	}
	var err error
	root.Dir, err = filepath.Abs(dir)
	return root, err
}

// Because adds the reasons to a message.
func Because(errs []error) string {
	if len(errs) == 0 {
		return ""
	}
	return ": " + errors.Join(errs...).Error()
}

// SensorNames are the names that --sensors takes.
func SensorNames() string {
	var names []string
	for _, s := range nemb.Sources() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// Idle measures the machine before the program starts. unused is set where
// nothing measures its power.
func (m *Opened) Idle(ctx context.Context, interval, span time.Duration) (b *measure.Baseline, unused bool,
	err error) {
	if span == 0 {
		return nil, false, nil
	}
	b, err = measure.MeasureIdle(ctx, m.Found.Sensors, interval, span)
	switch {
	case ctx.Err() != nil:
		err = exit.With(128+int(exit.Interrupted(ctx)), "interrupted before the program was started")
	case err != nil:
		err = exit.Self("--baseline: %w", err)
	}
	return b, b == nil && err == nil, err
}

// Conditions is what runs of both kinds have. done stops the signals in it.
func (m *Opened) Conditions(interval time.Duration) (s experiment.Conditions, done func()) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, unix.SIGTERM, unix.SIGHUP)
	return experiment.Conditions{
		Machine:  &experiment.Machine{Root: m.Root, Found: m.Found, Idle: m.idleMemory()},
		Interval: interval, Argv: os.Args, Version: version.Cg,
		Terminated: terminated,
	}, func() { signal.Stop(terminated) }
}
