package python

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// pageSize is how much is read at once. A mapping has whole pages of it on every system.
const pageSize = 4096

// mostPages is how many pages one call of the system reads (IOV_MAX of Linux).
const mostPages = 1024

// mostBytes is more than is read of one object.
const mostBytes = 1 << 20

// errAbsent is of an address that the process has not, or that an object was at.
var errAbsent = errors.New("no such memory")

// Memory is what was read of a process since the last Forget: each page once, so what lies
// on one page is of one moment.
type memory struct {
	pid   int
	pages map[uint64]*page
	spare []*page
	asked []uint64 // the pages in the order in which they were needed, each once
	local []unix.Iovec
	far   []unix.RemoteIovec

	buffers []*page // scratch memory
	// system is process_vm_readv(2); tests have their own.
	system func(pid int, local []unix.Iovec, far []unix.RemoteIovec) (int, error)
}

// page is one that was read.
type page struct {
	bytes [pageSize]byte
	asked bool // it was needed
}

func newMemory(pid int) *memory {
	return &memory{
		pid: pid, pages: map[uint64]*page{},
		system: func(pid int, local []unix.Iovec, far []unix.RemoteIovec) (int, error) {
			return unix.ProcessVMReadv(pid, local, far, 0)
		},
	}
}

// forget drops what was read.
func (m *memory) forget() {
	for at, p := range m.pages {
		m.spare = append(m.spare, p)
		delete(m.pages, at)
	}
	m.asked = m.asked[:0]
}

// fetch reads pages in one call, those that are there.
func (m *memory) fetch(pages []uint64) error {
	for len(pages) > 0 {
		n := min(len(pages), mostPages)
		got, err := m.fetchSome(pages[:n])
		if err != nil {
			return err
		}
		if got < n { // the page after them is not there
			got++
		}
		pages = pages[got:]
	}
	return nil
}

func (m *memory) fetchSome(pages []uint64) (got int, err error) {
	m.local, m.far = m.local[:0], m.far[:0]
	buffers := m.buffers[:0]
	for _, at := range pages {
		b := m.buffer()
		buffers = append(buffers, b)
		m.local = append(m.local, unix.Iovec{Base: &b.bytes[0], Len: pageSize})
		m.far = append(m.far, unix.RemoteIovec{Base: uintptr(at), Len: pageSize})
	}
	m.buffers = buffers
	n, err := m.system(m.pid, m.local, m.far)
	got = max(0, n) / pageSize
	for i, b := range buffers {
		if i < got && m.pages[pages[i]] == nil {
			m.pages[pages[i]] = b
		} else {
			m.spare = append(m.spare, b)
		}
	}
	if err != nil && !errors.Is(err, unix.EFAULT) && !errors.Is(err, unix.EIO) {
		return 0, err
	}
	return got, nil
}

func (m *memory) buffer() *page {
	if n := len(m.spare); n > 0 {
		b := m.spare[n-1]
		m.spare = m.spare[:n-1]
		b.asked = false
		return b
	}
	return new(page)
}

// bytes is what stands at an address. The slice is valid until forget.
func (m *memory) bytes(at uint64, n int) ([]byte, error) {
	if at < pageSize || at > 1<<62 || n < 0 || n > mostBytes {
		return nil, errAbsent
	}
	first, err := m.at(at &^ (pageSize - 1))
	if err != nil {
		return nil, err
	}
	from := int(at & (pageSize - 1))
	if from+n <= pageSize {
		return first[from : from+n], nil
	}
	all := append(make([]byte, 0, n), first[from:]...)
	for next := at&^(pageSize-1) + pageSize; len(all) < n; next += pageSize {
		p, err := m.at(next)
		if err != nil {
			return nil, err
		}
		all = append(all, p[:min(pageSize, n-len(all))]...)
	}
	return all, nil
}

// at is the page at an address.
func (m *memory) at(at uint64) (*[pageSize]byte, error) {
	p := m.pages[at]
	if p == nil {
		if err := m.fetch([]uint64{at}); err != nil {
			return nil, err
		}
		if p = m.pages[at]; p == nil {
			return nil, errAbsent
		}
	}
	if !p.asked {
		p.asked = true
		m.asked = append(m.asked, at)
	}
	return &p.bytes, nil
}

// renew reads all pages that were needed so far once more.
func (m *memory) renew() error {
	pages := slices.Clone(m.asked)
	m.forget()
	return m.fetch(pages)
}

// word is the 64-bit number at an address.
func (m *memory) word(at uint64) (uint64, error) {
	b, err := m.bytes(at, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// denied explains an error of process_vm_readv(2): who may not read, and what to do.
func denied(pid int, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("the memory of process %d may not be read (%w): run cg as its user or as root; in a container "+
		"with the capability SYS_PTRACE (docker run --cap-add SYS_PTRACE); and where "+
		"/proc/sys/kernel/yama/ptrace_scope is 1 or more, as root, or let cg start the program: "+
		"cg measure --sample", pid, err)
}
