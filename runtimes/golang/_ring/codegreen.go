// Checkpoints: what rewritten functions call, and the channel to cg, as FORMAT.md
// of package checkpoint specifies it.

package ring

import (
	"internal/runtime/atomic"
	"syscall"
	"unsafe"
)

const (
	codegreenMagic     = 0x48434743 // "CGCH"
	codegreenVersion   = 4
	codegreenTreeMagic = 0x52544743 // "CGTR"
	codegreenPage      = 4096
	codegreenSites     = 1 << 21
	codegreenFiles     = 1 << 16
	codegreenNames     = 32 << 20
	codegreenProbes    = 128
	codegreenTreesAt   = 320 // in the header: the descriptor of the trees
	// codegreenNone is the number before the sites of a file that the channel
	// does not know: their events are not written.
	codegreenNone = 1 << 30
)

type codegreenEntry struct{ key, value uint64 }

// codegreenPageOne is what the header has of the table of files.
type codegreenPageOne struct {
	_            [192]byte
	given, named uint64
}

// codegreenChannel is the channel once it has been checked: its first page, the
// first of its chunks, and the head of the trees, nil where there are none.
type codegreenChannel struct {
	head, chunks unsafe.Pointer
	trees        unsafe.Pointer
	tree         func(index uintptr) uintptr // maps one, 0: it cannot
	nap          func(nanos int64) bool
	space        uint64
	pid          uint32
}

var (
	codegreenTable        *[codegreenSites]uint64
	codegreenTableOfFiles *[codegreenFiles]codegreenEntry
	codegreenNameBytes    unsafe.Pointer
	codegreenFirstPage    *codegreenPageOne
	codegreenOwner        int // process id of cg
)

// CodegreenFile returns the number before the first site of a file, as the
// channel's table of files gives it.
//
//go:norace
func CodegreenFile(key uint64) uint32 {
	if codegreenTableOfFiles == nil {
		return codegreenNone
	}
	for i := uint64(0); i < codegreenProbes; i++ {
		width := uint64(codegreenFiles)
		if i < 32 {
			width = 256 << (i / 8 * 2)
		}
		f := &codegreenTableOfFiles[(key+i)%width]
		switch atomic.Load64(&f.key) {
		case key:
			if v := atomic.Load64(&f.value); v != 0 {
				return uint32(v >> 21 & (codegreenSites - 1))
			}
			return codegreenNone
		case 0:
			return codegreenNone
		}
	}
	return codegreenNone
}

func init() { codegreenOpen() }

// codegreenOpen maps the channel that cg names in the environment. A program
// without one runs without checkpoints.
//
//go:norace
func codegreenOpen() {
	path, ok := syscall.Getenv("CG_CHANNEL")
	if !ok || path == "" {
		return
	}
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var st syscall.Stat_t
	err = syscall.Fstat(fd, &st)
	if err != nil || st.Size < codegreenPage {
		syscall.Close(fd)
		return
	}
	mem, err := syscall.Mmap(fd, 0, int(st.Size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	syscall.Close(fd)
	if err != nil {
		return
	}
	u32 := func(at int) uint32 { return *(*uint32)(unsafe.Pointer(&mem[at])) }
	chunks, size := int(u32(8)), int(u32(12))
	states := (chunks*4 + codegreenPage - 1) &^ (codegreenPage - 1)
	table := codegreenPage + states + chunks*size
	files := table + codegreenSites*8
	clock := u32(16)
	if u32(0) != codegreenMagic || u32(4) != codegreenVersion || *(*uint64)(unsafe.Pointer(&mem[24])) != 0 ||
		chunks == 0 || size < 128 || clock != 2 && (clock != 1 || !codegreenHasCycles) ||
		files+codegreenFiles*16+codegreenNames != len(mem) {
		syscall.Munmap(mem)
		return
	}
	codegreenOwner = int(u32(20))
	var space uint64
	if syscall.Stat("/proc/self/ns/pid", &st) == nil {
		space = st.Ino
	}
	codegreenTable = (*[codegreenSites]uint64)(unsafe.Pointer(&mem[table]))
	codegreenTableOfFiles = (*[codegreenFiles]codegreenEntry)(unsafe.Pointer(&mem[files]))
	codegreenNameBytes = unsafe.Pointer(&mem[files+codegreenFiles*16])
	codegreenFirstPage = (*codegreenPageOne)(unsafe.Pointer(&mem[0]))
	c := &codegreenChannel{head: unsafe.Pointer(&mem[0]), chunks: unsafe.Pointer(&mem[codegreenPage+states]),
		nap: codegreenNap, space: space, pid: uint32(syscall.Getpid())}
	c.trees, c.tree = codegreenPlot(path, u32(codegreenTreesAt))
	codegreenBegin(c)
}

// codegreenNap sleeps in a system call, so that the thread's goroutines go on
// elsewhere, and reports whether cg is still there.
//
//go:norace
func codegreenNap(nanos int64) bool {
	t := syscall.NsecToTimespec(nanos)
	syscall.Nanosleep(&t, nil)
	return syscall.Kill(codegreenOwner, 0) != syscall.ESRCH
}
