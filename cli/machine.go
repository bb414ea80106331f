package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/nemb"
	"cg/nemb/habits"
	"cg/nemb/idle"
	"cg/runtimes"
)

// machine is where a command measures, with its sensors open.
type machine struct {
	root  nemb.Root
	found nemb.Found
}

// openMachine opens the sensors that --sensors and --sysroot name. The caller
// closes it. A signal that ends ctx ends it, too, whatever a sensor does.
func openMachine(ctx context.Context, c *cli.Context) (*machine, error) {
	root, err := sysroot(c)
	if err != nil {
		return nil, err
	}
	want := c.StringSlice("sensors")
	m := &machine{root: root}
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
		m.found, err = f.found, f.err
	case <-ctx.Done():
		return nil, exit.With(128+int(exit.Interrupted(ctx)), "interrupted while the sensors were looked for")
	}
	switch {
	case errors.Is(err, nemb.ErrUnknownSource):
		return nil, exit.Usage("-s: %w", err)
	case err != nil:
		return nil, exit.Self("%w", err)
	case len(want) > 0 && len(m.found.Sensors) == 0:
		m.close()
		return nil, exit.Self("-s %s: none of these can be read here%s", strings.Join(want, ","),
			because(slices.Concat(m.found.Denied, m.found.Hung)))
	}
	if folder, ok := habitsFolder(); ok {
		if err := habits.Set(folder, m.found.Sensors); err != nil {
			m.found.Notes = append(m.found.Notes, nemb.Note{Text: err.Error() +
				": what is published of such GPUs is used (cg doctor --gpu measures it anew)"})
		}
	}
	return m, nil
}

// habitsFolder is where it is kept how the readings of GPUs follow their power; false without a cache.
func habitsFolder() (runtimes.Cache, bool) {
	cache, _ := keeping()
	folder, err := cache.Sub("gpus")
	return folder, err == nil
}

func (m *machine) close() { m.found.Close() }

// idleMemory is what is remembered of the machine's idle power, nil without a cache.
func (m *machine) idleMemory() *idle.Memory {
	cache, _ := keeping()
	folder, err := cache.Sub("idle")
	if err != nil {
		return nil
	}
	return idle.Open(folder, folder.Dir, idle.Here(m.root))
}

// recallIdle tells the sensors' domains what is remembered of their idle power.
func (m *machine) recallIdle() {
	memory := m.idleMemory()
	for _, s := range m.found.Sensors {
		if a, ok := s.(nemb.Adjusting); ok {
			a.Adjust(func(d *nemb.Domain) { d.Remembered = memory.Recall(d.ID) })
		}
	}
}

// sysroot is the machine whose sensors are read.
func sysroot(c *cli.Context) (nemb.Root, error) {
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

// because adds the reasons to a message.
func because(errs []error) string {
	if len(errs) == 0 {
		return ""
	}
	return ": " + errors.Join(errs...).Error()
}

func sensorNames() string {
	var names []string
	for _, s := range nemb.Sources() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}
