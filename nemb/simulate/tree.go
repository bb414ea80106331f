package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"cg/pattern"
)

// ErrNoFUSE says that this machine cannot mount a Tree: /dev/fuse is missing
// or may not be opened, or mounting is not permitted. It takes root.
var ErrNoFUSE = errors.New("simulate: a FUSE tree needs root and /dev/fuse")

// Zone is one powercap zone.
type Zone struct {
	Dir     string // intel-rapl:0, intel-rapl:0:1
	Name    string // package-0, core, dram, psys
	Counter Counter
	Zones   []Zone
}

// Machine is what a Tree shows.
type Machine struct {
	Zones   []Zone
	Cpuinfo string // text of proc/cpuinfo; "" for none
}

// Fault is what reading a zone's energy_uj fails with, 0 for not at all.
type Fault struct {
	Open syscall.Errno // EACCES
	Read syscall.Errno // EIO; ENODEV on a kept descriptor is a removed zone
	// Text replaces what is read, "" for none: a counter shows an empty text
	// with "\n".
	Text string
	// Hold makes a read wait until it is closed, and HoldOpen an open; a signal that
	// the waiting thread takes ends it, too.
	Hold, HoldOpen <-chan struct{}
	// Held is called when a read or an open begins to wait, nil for nothing.
	Held func()
	// Delay is what a read takes: it shows the counter as it was at its end.
	Delay time.Duration
	// Stuck makes the counter stand still at what it shows now. Mended, it
	// shows what it would have.
	Stuck bool
}

// Tree is a mounted machine. DIR/sys/devices/virtual/powercap holds the zones,
// DIR/sys/class/powercap the links to them. energy_uj is computed when it is
// read; instant 0 is Epoch.
type Tree struct {
	Epoch  time.Time
	dir    string
	server *fuse.Server
	zones  map[string]*energyFile
	class  *fs.Inode
}

// Mount serves machine below dir, an existing folder. Close ends it.
func Mount(dir string, machine Machine) (*Tree, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: /dev/fuse: %w", ErrNoFUSE, err)
	}
	unix.Close(fd)
	sweep()
	t := &Tree{Epoch: time.Now(), dir: dir, zones: map[string]*energyFile{}}
	never := time.Duration(0)
	syscall.ForkLock.RLock() // no program is started that has the descriptor before keepFromPrograms
	t.server, err = fs.Mount(dir, &treeRoot{tree: t, machine: machine}, &fs.Options{
		EntryTimeout: &never,
		AttrTimeout:  &never,
		MountOptions: fuse.MountOptions{FsName: fmt.Sprint(fsName, " ", os.Getpid()), Name: fsName,
			DirectMountStrict: true, DisableXAttrs: true},
	})
	keepFromPrograms()
	syscall.ForkLock.RUnlock()
	switch {
	case errors.Is(err, syscall.EPERM):
		return nil, fmt.Errorf("%w: mount %s: %w", ErrNoFUSE, dir, err)
	case err != nil:
		return nil, fmt.Errorf("simulate: mount %s: %w", dir, err)
	}
	return t, nil
}

// keepFromPrograms sets close-on-exec on the descriptors of FUSE, which go-fuse opens without. A program that has one
// keeps the tree of a killed test alive, with nobody who answers: whoever reads it then, the program itself, too, hangs
// and cannot be killed.
func keepFromPrograms() {
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if target, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && target == "/dev/fuse" {
			if fd, err := strconv.Atoi(f.Name()); err == nil {
				unix.CloseOnExec(fd)
			}
		}
	}
}

// fsName is the name of the file system in /proc/self/mountinfo. The process that
// serves a tree is in the name of its source.
const fsName = "cg-simulate"

// served is the process that serves a mounted tree, in a line of mountinfo(5).
var served = pattern.Later(`^\d+ \d+ \S+ \S+ (\S+) .* - fuse\.` + fsName + ` ` + fsName + `\\040(\d+) `)

// sweep unmounts the trees of processes that were killed before they could: whoever
// looks at one gets ENOTCONN. Nothing is asked of a tree whose process lives.
func sweep() {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return // a tree can be mounted all the same
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		m := served().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		pid, err := strconv.Atoi(m[2])
		if err != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		dir, err := strconv.Unquote(`"` + strings.ReplaceAll(m[1], `"`, `\"`) + `"`) // blanks are octal escapes
		if err != nil {
			continue
		}
		// A process of another pid namespace seems to be gone, and its tree answers.
		if _, err := os.Stat(dir); errors.Is(err, unix.ENOTCONN) {
			_ = unix.Unmount(dir, unix.MNT_DETACH) // the next one tries again
		}
	}
}

// Fault makes the counter of the zone in directory zone fail from now on;
// Fault{} removes the fault.
func (t *Tree) Fault(zone string, f Fault) error {
	file, ok := t.zones[zone]
	if !ok {
		return fmt.Errorf("simulate: no zone %s", zone)
	}
	if f.Stuck {
		f.Text = file.text()
	}
	file.fault.Store(&f)
	return nil
}

// Reset makes the counter of a zone start over at 0, as when its driver is
// loaded again.
func (t *Tree) Reset(zone string) error {
	file, ok := t.zones[zone]
	if !ok {
		return fmt.Errorf("simulate: no zone %s", zone)
	}
	file.base.Store(file.raw())
	return nil
}

// Unplug takes a zone and those below it away for good: its folder and its link
// are gone, and descriptors that are open read ENODEV, as in sysfs.
func (t *Tree) Unplug(zone string) error {
	file, ok := t.zones[zone]
	if !ok {
		return fmt.Errorf("simulate: no zone %s", zone)
	}
	for name, f := range t.zones {
		if name == zone || strings.HasPrefix(name, zone+":") {
			f.fault.Store(&Fault{Open: syscall.ENODEV, Read: syscall.ENODEV})
			t.class.RmChild(name)
			delete(t.zones, name)
		}
	}
	if _, dir := file.dir.Parent(); dir != nil {
		dir.RmChild(zone)
	}
	return nil
}

// Close unmounts the tree, even while its files are open: reading them fails
// with ENOTCONN or ECONNABORTED afterwards.
func (t *Tree) Close() error {
	if err := unix.Unmount(t.dir, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
		return fmt.Errorf("simulate: unmount %s: %w", t.dir, err)
	}
	t.server.Wait()
	return nil
}

// range32 is the max_energy_range_uj of 32 bits of 61 uJ.
const range32 = 262143328850

type treeRoot struct {
	fs.Inode
	tree    *Tree
	machine Machine
}

// OnAdd builds the folders; go-fuse calls it before the first request.
func (r *treeRoot) OnAdd(ctx context.Context) {
	const devices = "devices/virtual/powercap"
	sys := folder(ctx, &r.Inode, "sys")
	class := folder(ctx, sys, "class/powercap")
	r.tree.class = class
	base := folder(ctx, sys, devices)
	var add func(parent *fs.Inode, at string, zones []Zone)
	add = func(parent *fs.Inode, at string, zones []Zone) {
		for _, z := range zones {
			dir := folder(ctx, parent, z.Dir)
			if z.Counter.Range == 0 {
				z.Counter.Range = range32
			}
			energy := &energyFile{dir: dir, counter: z.Counter, epoch: r.tree.Epoch}
			energy.fault.Store(&Fault{})
			r.tree.zones[z.Dir] = energy
			put(ctx, dir, "energy_uj", energy, syscall.S_IFREG)
			put(ctx, dir, "name", text(z.Name+"\n"), syscall.S_IFREG)
			put(ctx, dir, "max_energy_range_uj", text(strconv.FormatUint(z.Counter.Range, 10)+"\n"), syscall.S_IFREG)
			put(ctx, class, z.Dir, &fs.MemSymlink{Data: []byte(path.Join("../..", at, z.Dir))}, syscall.S_IFLNK)
			add(dir, path.Join(at, z.Dir), z.Zones)
		}
	}
	for _, z := range r.machine.Zones {
		driver, _, _ := strings.Cut(z.Dir, ":")
		add(folder(ctx, base, driver), path.Join(devices, driver), []Zone{z})
	}
	if r.machine.Cpuinfo != "" {
		put(ctx, folder(ctx, &r.Inode, "proc"), "cpuinfo", text(r.machine.Cpuinfo), syscall.S_IFREG)
	}
}

// folder returns the folder at a path below parent and makes what lacks.
func folder(ctx context.Context, parent *fs.Inode, at string) *fs.Inode {
	for name := range strings.SplitSeq(at, "/") {
		child := parent.GetChild(name)
		if child == nil {
			child = put(ctx, parent, name, &fs.Inode{}, syscall.S_IFDIR)
		}
		parent = child
	}
	return parent
}

func put(ctx context.Context, parent *fs.Inode, name string, node fs.InodeEmbedder, kind uint32) *fs.Inode {
	child := parent.NewPersistentInode(ctx, node, fs.StableAttr{Mode: kind})
	parent.AddChild(name, child, true)
	return child
}

func text(s string) *fs.MemRegularFile {
	return &fs.MemRegularFile{Data: []byte(s), Attr: fuse.Attr{Mode: 0o444}}
}

// energyFile is energy_uj: mode 0400 like the real one, never cached.
type energyFile struct {
	fs.Inode
	dir     *fs.Inode // the zone's
	counter Counter
	epoch   time.Time
	base    atomic.Uint64 // what it showed at the last Reset
	fault   atomic.Pointer[Fault]
}

func (f *energyFile) raw() uint64 { return f.counter.Read(time.Since(f.epoch)) }

func (f *energyFile) text() string {
	raw, base := f.raw(), f.base.Load()
	if raw < base {
		raw += f.counter.Range + 1
	}
	return strconv.FormatUint(raw-base, 10) + "\n"
}

var _ interface {
	fs.NodeOpener
	fs.NodeReader
	fs.NodeGetattrer
} = (*energyFile)(nil)

func (f *energyFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o400, uint64(os.Getpagesize())
	return 0
}

// hold waits as a fault says, at most so long as who asks is not interrupted.
func (f *energyFile) hold(ctx context.Context, until <-chan struct{}, held func()) syscall.Errno {
	if until == nil {
		return 0
	}
	if held != nil {
		held()
	}
	select {
	case <-until:
		return 0
	case <-ctx.Done():
		return syscall.EINTR
	}
}

func (f *energyFile) Open(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fault := f.fault.Load()
	if errno := f.hold(ctx, fault.HoldOpen, fault.Held); errno != 0 {
		return nil, 0, errno
	}
	return nil, fuse.FOPEN_DIRECT_IO, fault.Open
}

func (f *energyFile) Read(ctx context.Context, _ fs.FileHandle, dest []byte, off int64) (
	fuse.ReadResult, syscall.Errno,
) {
	fault := f.fault.Load()
	if errno := f.hold(ctx, fault.Hold, fault.Held); errno != 0 {
		return nil, errno
	}
	if fault.Delay > 0 {
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, syscall.EINTR
		}
	}
	if fault.Read != 0 {
		return nil, fault.Read
	}
	s := fault.Text
	if s == "" {
		s = f.text()
	}
	if off >= int64(len(s)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData([]byte(s[off:min(int64(len(s)), off+int64(len(dest)))])), 0
}
