package ring

import (
	"syscall"
	"unsafe"
)

// Events that package runtime adds up, which knows threads and goroutines.

// CodegreenEnter records that a call of a site begins. It returns what records that the
// call ends.
//
//go:linkname CodegreenEnter runtime.codegreenEnter
func CodegreenEnter(site uint32) (exit func())

// CodegreenPlace records that a call goes to a place in its code, by its site, if the goroutine is in
// a call of the function whose site is so many numbers before that one.
//
//go:linkname CodegreenPlace runtime.codegreenPlace
func CodegreenPlace(site, back uint32)

// codegreenBegin has its body in package runtime.
func codegreenBegin(c *codegreenChannel)

// codegreenTask says which span the goroutines are part of that this one starts,
// and returns which one it was.
//
//go:linkname codegreenTask runtime.codegreenTask
func codegreenTask(site uint32) (before uint32)

const codegreenHasCycles = true

// codegreenTrees is the head of the trees, as FORMAT.md specifies it.
type codegreenTrees struct {
	magic, version, trees, nodes, windows, _ uint32
	bytes                                    uint64
}

const codegreenDontDump = 16 // MADV_DONTDUMP

var (
	codegreenTreesPath  []byte  // ends with a zero byte
	codegreenFirstTree  uintptr // where in the file
	codegreenTreesBytes uintptr // of a tree
)

// codegreenPlot maps the head of the trees, a file beside the channel, and returns it and
// what maps one tree; nil where there are none that this writer knows.
//
//go:norace
func codegreenPlot(channel string, trees uint32) (head unsafe.Pointer, tree func(index uintptr) uintptr) {
	if trees == 0 {
		return nil, nil
	}
	end := len(channel)
	for end > 0 && channel[end-1] != '/' {
		end--
	}
	path := channel[:end] + codegreenDecimal(uint64(trees))
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Size < codegreenPage {
		return nil, nil
	}
	var b [64]byte
	if n, err := syscall.Pread(fd, b[:], 0); err != nil || n < len(b) {
		return nil, nil
	}
	h := (*codegreenTrees)(unsafe.Pointer(&b))
	size := (64 + 4*uint64(h.trees) + codegreenPage - 1) &^ (codegreenPage - 1)
	if h.magic != codegreenTreeMagic || h.version != 4 || h.windows != 8 || h.nodes < 64 || h.nodes > 1<<20 ||
		h.nodes%16 != 0 || h.trees > 1<<16 || h.bytes%codegreenPage != 0 ||
		h.bytes < codegreenPage+uint64(h.nodes)/2+uint64(h.nodes)*192 ||
		size+uint64(h.trees)*h.bytes > uint64(st.Size) {
		return nil, nil
	}
	mem, err := syscall.Mmap(fd, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	codegreenTreesPath = append([]byte(path), 0)
	codegreenFirstTree, codegreenTreesBytes = uintptr(size), uintptr(h.bytes)
	return unsafe.Pointer(&mem[0]), codegreenMapTree
}

// codegreenMapTree maps a tree and returns its address, 0 where that fails. It is called by the
// scheduler, too, on a thread's own stack.
//
//go:norace
//go:nosplit
func codegreenMapTree(index uintptr) uintptr {
	const at = -100 // AT_FDCWD
	fd, _, err := syscall.RawSyscall6(syscall.SYS_OPENAT, at&(1<<64-1), uintptr(unsafe.Pointer(&codegreenTreesPath[0])),
		syscall.O_RDWR|syscall.O_CLOEXEC, 0, 0, 0)
	if err != 0 {
		return 0
	}
	p, _, err := syscall.RawSyscall6(syscall.SYS_MMAP, 0, codegreenTreesBytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED, fd, codegreenFirstTree+index*codegreenTreesBytes)
	syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
	if err != 0 {
		return 0
	}
	syscall.RawSyscall(syscall.SYS_MADVISE, p, codegreenTreesBytes, codegreenDontDump)
	return p
}
