package monitor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cg/nemb"
	"cg/nemb/population"
)

// Kind says what a target is.
type Kind string

// The kinds of targets.
const (
	PID       Kind = "pid"       // a process and all that it starts
	Cgroup    Kind = "cgroup"    // a control group and those below it
	Unit      Kind = "unit"      // a unit of systemd: every group of that name
	Container Kind = "container" // a container, by its id
)

// Target is what is to be watched as one.
type Target struct {
	Kind Kind
	Name string        // as it was asked for
	ID   population.ID // of a PID
	Path string        // of a Cgroup; the name of a Unit; the id of a Container
}

type target struct {
	Target
	tally
	processes int   // of a PID: that are there
	beganUnix int64 // 0: with the book
}

// holds reports whether a target has a control group.
func (t *Target) holds(group string) bool {
	switch t.Kind {
	case Cgroup:
		return group == t.Path || strings.HasPrefix(group, strings.TrimSuffix(t.Path, "/")+"/")
	case Unit:
		return slices.Contains(strings.Split(group, "/"), t.Path)
	case Container:
		for ; group != "/" && group != "."; group = path.Dir(group) { // it may hold others
			if c, ok := population.ContainerOf(group); ok && c.ID == t.Path {
				return true
			}
		}
	}
	return false
}

// Watch adds a target, before the first reading. One that it has, under whatever name, is
// not added again.
func (b *Book) Watch(t Target) {
	for _, has := range b.targets {
		if has.Kind == t.Kind && has.ID == t.ID && (t.Kind == PID || has.Path == t.Path) {
			return
		}
	}
	b.targets = append(b.targets, &target{Target: t, tally: tally{energy: make([]nemb.Energy, len(b.domains))}})
}

// Retarget makes these the targets, between two readings. Those that the book has, by their kind and
// what they hold, go on with what they have; others begin at 0, and those that are left out are
// forgotten. A process with all that it starts can only stay or go.
func (b *Book) Retarget(all []Target) {
	var targets []*target
	for _, t := range all {
		same := func(has *target) bool {
			return has.Kind == t.Kind && has.ID == t.ID && (t.Kind == PID || has.Path == t.Path)
		}
		if i := slices.IndexFunc(b.targets, same); i >= 0 {
			if !slices.Contains(targets, b.targets[i]) {
				targets = append(targets, b.targets[i])
			}
		} else if t.Kind != PID && !slices.ContainsFunc(targets, same) {
			targets = append(targets, &target{Target: t, beganUnix: b.atUnix,
				tally: tally{energy: make([]nemb.Energy, len(b.domains))}})
		}
	}
	gone := func(t *target) bool { return !slices.Contains(targets, t) }
	for _, p := range b.processes {
		p.targets = slices.DeleteFunc(p.targets, gone)
	}
	for _, p := range b.ended {
		p.targets = slices.DeleteFunc(p.targets, gone)
	}
	for _, g := range b.gone {
		g.targets = slices.DeleteFunc(g.targets, gone)
	}
	for _, g := range b.groups {
		g.targets = nil
		for _, t := range targets {
			if t.holds(g.path) {
				g.targets = append(g.targets, t)
			}
		}
	}
	for d := range b.waiting {
		for t := range b.waiting[d].targets {
			if gone(t) {
				delete(b.waiting[d].targets, t)
			}
		}
	}
	b.targets = targets
}

// ErrNothing is the error of Resolve for what is not there.
var ErrNothing = errors.New("there is none")

// Resolve finds what a user asked for on a host, before its first reading. The container's
// names are below a root folder, "" for /.
func Resolve(h *population.Host, root string, kind Kind, name string, pid int) (Target, error) {
	t := Target{Kind: kind, Name: name, Path: name}
	if kind == PID {
		p, err := h.Find(pid)
		if errors.Is(err, fs.ErrNotExist) || p.Over {
			err = fmt.Errorf("process %d: %w: ps -e lists those that are there", pid, ErrNothing)
		}
		t.ID = p.ID
		return t, err
	}
	if !h.HasGroups() {
		return t, fmt.Errorf("%s %s: %w: this machine has no control groups of version 2, by which units and "+
			"containers are found", kind, name, ErrNothing)
	}
	var r population.Reading
	if err := h.Read(&r); err != nil {
		return t, err
	}
	switch kind {
	case Cgroup:
		t.Path = path.Join("/", strings.TrimPrefix(name, "/sys/fs/cgroup"))
	case Unit:
		if path.Ext(name) == "" {
			t.Path = name + ".service"
		}
	case Container:
		return t, resolveContainer(&t, root, r.Groups)
	}
	if !slices.ContainsFunc(r.Groups, func(g population.Group) bool { return t.holds(g.Path) }) && t.Path != "/" {
		return t, fmt.Errorf("%s %s: %w: systemd-cgls lists what is there", kind, name, ErrNothing)
	}
	return t, nil
}

// leastID is how many digits of a container's id are enough.
const leastID = 4

// resolveContainer finds a container by its name, or the first digits of its id.
func resolveContainer(t *Target, root string, groups []population.Group) error {
	ids := population.ContainersNamed(root, t.Name)
	var found []string
	for _, g := range groups {
		c, ok := population.ContainerOf(g.Path)
		short := len(t.Name) >= leastID && strings.HasPrefix(c.ID, t.Name)
		if ok && (slices.Contains(ids, c.ID) || short) && !slices.Contains(found, c.ID) {
			found = append(found, c.ID)
		}
	}
	switch len(found) {
	case 1:
		t.Path = found[0]
		return nil
	case 0:
		return fmt.Errorf("container %s: %w that runs: name it as docker ps or podman ps do, or by its id (names are "+
			"read from the runtime's folder, which takes root)", t.Name, ErrNothing)
	}
	return fmt.Errorf("container %s: there are %d of that name: use its id, one of %s", t.Name, len(found),
		strings.Join(found, ", "))
}
