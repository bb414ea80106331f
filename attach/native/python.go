package native

import (
	"path"
	"slices"

	"cg/attach/perf"
	"cg/attach/unwind"
	"cg/checkpoint"
	"cg/pattern"
)

// systemLibrary is the name of a file of the C library or of the kernel's.
var systemLibrary = pattern.Later(`^(libc|libm|libpthread|libdl|librt|ld)(-linux.*|-[\d.]+)?(\.so.*)?$|^ld-musl-|^\[`)

// kept are the registers that a function must leave as they are (System V ABI for x86-64, figure 3.4): rbx,
// rbp and r12 to r15, by DWARF's numbers.
var kept = [...]int{3, 6, 12, 13, 14, 15}

// HeldRegisters is how many words of Look.Held are registers: the first ones.
const HeldRegisters = len(kept)

// mostHeld is how many words of a frame are taken: that of the loop has some 100.
const mostHeld = 256

// step is a frame of a sample.
type step struct {
	m     *perf.Mapping
	at    uint64
	image *image // nil for code that was made
}

// interpreted fills in a look at a thread of a process that runs CPython: the functions between the loop
// that executes bytecode and where the thread is.
func (r *Reader) interpreted(s *space, record *perf.Record, l *Look) {
	l.Python = true
	var steps []step
	w := walker(record)
	for range mostFrames {
		m := s.find(w.frame.Lookup())
		if m == nil {
			break
		}
		var image *image
		if isFile(m) {
			image = r.files.image(s.pid, m)
			if f := image.find(m, w.frame.Lookup()); f != nil && f.name == evalLoop {
				l.Interpreted, l.Held = true, w.held(m, image)
				l.Path = r.extension(s, steps, image, record.At)
				return
			}
		}
		steps = append(steps, step{m, w.frame.Lookup(), image})
		if !caller(&w.frame, m, image, w.memory) {
			break
		}
	}
	l.Else = func() []checkpoint.SiteID { return r.guardedPath(s, record) }
}

// extension is the functions of steps, the outermost first, from the first on that is neither the
// interpreter's, whose file is given, nor the C library's.
func (r *Reader) extension(s *space, steps []step, of *image, now checkpoint.Instant) (all []checkpoint.SiteID) {
	for _, f := range slices.Backward(steps) {
		own := f.image == of || f.image != nil && systemLibrary().MatchString(path.Base(f.image.name)) ||
			f.image == nil && systemLibrary().MatchString(f.m.Name)
		if len(all) == 0 && own {
			continue
		}
		site, _ := r.site(s, f.m, f.at, now)
		if site != 0 && (len(all) == 0 || all[len(all)-1] != site) {
			all = append(all, site)
		}
	}
	return all
}

// walk is the frame that a sample is followed to.
type walk struct {
	frame  unwind.Frame
	memory unwind.Memory
}

// held is the words that the function of a frame has in the registers which others leave as they are, and in
// its part of the stack.
func (w *walk) held(m *perf.Mapping, i *image) (all []uint64) {
	for _, n := range kept {
		all = append(all, w.frame.Registers[n])
	}
	next := w.frame
	from := w.frame.Registers[unwind.StackPointer]
	if !caller(&next, m, i, w.memory) {
		return all
	}
	for at := from; at < next.Registers[unwind.StackPointer] && len(all) < mostHeld; at += 8 {
		word, ok := w.memory(at)
		if !ok {
			break
		}
		all = append(all, word)
	}
	return all
}
