package native

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
	"golang.org/x/sys/unix"

	"cg/attach/perf"
	"cg/attach/unwind"
	"cg/checkpoint"
)

// file is one by what the kernel knows it as: a container's is not the host's of the same name.
type file struct {
	major, minor uint32
	inode        uint64
}

// files are those that were met.
type files struct {
	number func(checkpoint.Site) checkpoint.SiteID
	known  map[file]*image
	read   int64 // bytes of those that are known
}

// mostImages is of how many files the symbols are kept.
const mostImages = 1 << 10

// The most bytes that are read of all files together and of one, of code, of DWARF's sections, and of
// the names of sections, each of which debug/elf copies.
const mostFiles, mostFile, mostText, mostDebug, mostNames = 1 << 30, 256 << 20, 64 << 20, 64 << 20, 64 << 20

// limited is a file of which no more than some bytes are read.
type limited struct {
	io.ReaderAt
	left int64
}

// take tells whether so many bytes are left, and counts them as read.
func (l *limited) take(n uint64) bool {
	if l.left < 0 || n > uint64(l.left) {
		return false
	}
	l.left -= int64(n)
	return true
}

// ReadAt is that of io.ReaderAt.
func (l *limited) ReadAt(b []byte, at int64) (int, error) {
	if !l.take(uint64(len(b))) {
		return 0, errors.New("more than is read of a file")
	}
	return l.ReaderAt.ReadAt(b, at)
}

// image is what is known of a file.
type image struct {
	name      string // as the process names it
	segments  []elf.ProgHeader
	table     *unwind.Table // nil for none
	functions []function    // by address
	golang    *gosym.Table  // nil where Go made none of it
	debug     *dwarf.Data   // nil for none
	text      []byte        // its code, where there are functions that table has not
	textAt    uint64        // where that was linked to be
	unknown   checkpoint.SiteID
}

// function is a symbol: addresses as linked.
type function struct {
	start, end uint64
	name       string
	site       checkpoint.SiteID // 0: not asked for so far
}

// image is that of a mapping's file.
func (fs *files) image(pid uint32, m *perf.Mapping) *image {
	key := file{major: m.Major, minor: m.Minor, inode: m.Inode}
	i := fs.known[key]
	if i == nil {
		if len(fs.known) >= mostImages {
			clear(fs.known)
			fs.read = 0
		}
		i = &image{name: m.Name}
		if f := openMapped(pid, m); f != nil {
			room := min(mostFile, mostFiles-fs.read)
			l := &limited{f, room}
			i.read(l)
			fs.read += room - l.left
			f.Close()
		}
		fs.known[key] = i
	}
	return i
}

// openMapped opens the file of a mapping, nil where it cannot be had, or another has its name.
func openMapped(pid uint32, m *perf.Mapping) *os.File {
	link := fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End)
	for n, name := range []string{link, fmt.Sprintf("/proc/%d/root%s", pid, m.Name), m.Name} {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		sameDevice := unix.Major(st.Dev) == m.Major && unix.Minor(st.Dev) == m.Minor
		// The link of a mapping is to its file. The process's path of it is taken where stat has other devices.
		same := sameDevice || n == 0 || n == 1 && otherDevice(fd)
		if err == nil && st.Ino == m.Inode && same && st.Mode&unix.S_IFMT == unix.S_IFREG {
			return os.NewFile(uintptr(fd), name)
		}
		unix.Close(fd)
	}
	return nil
}

// otherDevice tells whether a file is of a file system for which stat tells another device than mappings.
func otherDevice(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && (fs.Type == unix.BTRFS_SUPER_MAGIC || fs.Type == unix.OVERLAYFS_SUPER_MAGIC)
}

// read reads a file, which may be anything.
func (i *image) read(f *limited) {
	defer func() {
		if recover() != nil { // debug/elf and others have no answer to the file
			*i = image{name: i.name}
		}
	}()
	if !readable(f) {
		return
	}
	e, err := elf.NewFile(f)
	if err != nil || e.Class != elf.ELFCLASS64 || e.Machine != elf.EM_X86_64 {
		return
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			i.segments = append(i.segments, p.ProgHeader)
		}
	}
	if s := e.Section(".eh_frame"); s != nil {
		i.table = unwind.Parse(data(s), s.Addr)
	}
	i.readSymbols(e)
	i.findLoop(e)
	if s := e.Section(".gopclntab"); s != nil {
		i.golang, _ = gosym.NewTable(nil, gosym.NewLineTable(data(s), i.textOf(e)))
	}
	if s := e.Section(".text"); s != nil && s.Size <= mostText && (i.golang != nil || i.table == nil) {
		i.text, i.textAt = data(s), s.Addr
	}
	if interpreter().MatchString(path.Base(i.name)) {
		return // whose lines nobody asks for, and which has many
	}
	if size := debugBytes(e); size > 0 && size <= mostDebug && i.golang == nil && f.take(size) {
		i.debug, _ = e.DWARF()
	}
}

// readable tells whether a file is one of 64 bits with names of sections that debug/elf can copy.
func readable(f io.ReaderAt) bool {
	var header elf.Header64
	err := binary.Read(io.NewSectionReader(f, 0, 64), binary.LittleEndian, &header)
	class, order := elf.Class(header.Ident[elf.EI_CLASS]), elf.Data(header.Ident[elf.EI_DATA])
	if err != nil || class != elf.ELFCLASS64 || order != elf.ELFDATA2LSB {
		return false
	}
	if header.Shnum == 0 {
		return header.Shoff == 0
	}
	var names elf.Section64
	at := int64(header.Shoff) + int64(header.Shstrndx)*int64(header.Shentsize)
	err = binary.Read(io.NewSectionReader(f, at, 64), binary.LittleEndian, &names)
	return err == nil && names.Flags&uint64(elf.SHF_COMPRESSED) == 0 && names.Size <= mostNames/uint64(header.Shnum)
}

// debugBytes is how much memory DWARF's sections take, with what relocates them.
func debugBytes(e *elf.File) (size uint64) {
	for _, s := range e.Sections {
		relocates := (s.Type == elf.SHT_RELA || s.Type == elf.SHT_REL) && s.Info != 0
		if relocates || strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			s.Open() // sets the size of .zdebug to what it inflates to
			if size += s.Size; s.Size > mostDebug {
				return s.Size
			}
		}
	}
	return size
}

// data is a section's, none where it is compressed or too large.
func data(s *elf.Section) []byte {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil
	}
	b, _ := s.Data()
	return b
}

// readSymbols reads the names of functions.
func (i *image) readSymbols(e *elf.File) {
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} { // the second of one that was stripped
		s := e.SectionByType(kind)
		if s != nil && s.Link < uint32(len(e.Sections)) && len(i.functions) == 0 {
			i.addSymbols(data(s), string(data(e.Sections[s.Link])))
		}
	}
	i.sortFunctions()
	for n := range i.functions { // of assembly, which may have no size
		f := &i.functions[n]
		if f.end <= f.start && n+1 < len(i.functions) {
			f.end = i.functions[n+1].start
		}
	}
}

// sortFunctions puts functions in the order of their addresses, one for each.
func (i *image) sortFunctions() {
	slices.SortFunc(i.functions, func(a, b function) int { // free before __libc_free
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.name, a.name))
	})
	i.functions = slices.CompactFunc(i.functions, func(a, b function) bool { return a.start == b.start })
}

// addSymbols adds the functions of a table of symbols: Elf64_Sym of elf(5). Their names share memory.
func (i *image) addSymbols(table []byte, names string) {
	const size = 24
	for ; len(table) >= size; table = table[size:] {
		at, kind := binary.LittleEndian.Uint32(table), elf.ST_TYPE(table[4])
		undefined := binary.LittleEndian.Uint16(table[6:]) == uint16(elf.SHN_UNDEF)
		if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || undefined || uint64(at) >= uint64(len(names)) {
			continue
		}
		name := names[at:min(len(names), int(at)+1<<longestName)]
		if end := strings.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		start := binary.LittleEndian.Uint64(table[8:])
		end := start + binary.LittleEndian.Uint64(table[16:])
		i.functions = append(i.functions, function{start: start, end: end, name: name})
	}
}

// calls tells whether what is before an address calls the function at another: a near call with a
// displacement of 32 bits (Intel SDM vol. 2, CALL). Both are as linked.
func (i *image) calls(back, to uint64) bool {
	const length = 5
	n := back - i.textAt
	if back < i.textAt || n < length || n > uint64(len(i.text)) {
		return false
	}
	code := i.text[n-length:]
	return code[0] == 0xe8 && back+uint64(int32(binary.LittleEndian.Uint32(code[1:]))) == to
}

// textOf is where Go's code begins, from which its table counts.
func (i *image) textOf(e *elf.File) uint64 {
	for _, f := range i.functions {
		if f.name == "runtime.text" {
			return f.start
		}
	}
	if s := e.Section(".text"); s != nil {
		return s.Addr
	}
	return 0
}

// linked is where the linker put what is at an address.
func (i *image) linked(m *perf.Mapping, at uint64) (uint64, bool) {
	offset := at - m.Start + m.Offset
	for _, s := range i.segments {
		if offset >= s.Off && offset-s.Off < s.Filesz {
			return offset - s.Off + s.Vaddr, true
		}
	}
	return 0, false
}

// find is the function of an address, nil for none.
func (i *image) find(m *perf.Mapping, at uint64) *function {
	pc, ok := i.linked(m, at)
	if !ok {
		return nil
	}
	n, found := slices.BinarySearchFunc(i.functions, pc, func(f function, pc uint64) int {
		return cmp.Compare(f.start, pc)
	})
	if !found {
		n--
	}
	if n >= 0 && pc < i.functions[n].end {
		return &i.functions[n]
	}
	if i.golang == nil {
		return nil
	}
	f := i.golang.PCToFunc(pc) // of a file without symbols
	if f == nil {
		return nil
	}
	i.functions = slices.Insert(i.functions, n+1, function{start: f.Entry, end: f.End, name: f.Name})
	return &i.functions[n+1]
}

// named tells whether the function of an address has a name.
func (i *image) named(m *perf.Mapping, at uint64) bool { return i.find(m, at) != nil }

// site is that of the function at an address.
func (i *image) site(fs *files, m *perf.Mapping, at uint64) checkpoint.SiteID {
	f := i.find(m, at)
	if f == nil {
		if i.unknown == 0 {
			name := "[" + path.Base(i.name) + "]"
			i.unknown = fs.number(checkpoint.Site{Func: name, File: i.name, Kind: checkpoint.Function})
		}
		return i.unknown
	}
	if f.site == 0 {
		f.site = fs.number(i.describe(f))
	}
	return f.site
}

// longestName is the most bytes of a name as a power of two: a mangled name of some hundred bytes may
// stand for gigabytes, and one of megabytes nests as deep.
const longestName = 12

// demangled is a name as the source has it, cut where it is too long.
func demangled(name string) string {
	if len(name) >= 1<<longestName {
		return strings.ToValidUTF8(name[:1<<longestName-1], "")
	}
	return demangle.Filter(name, demangle.NoParams, demangle.LLVMStyle, demangle.MaxLength(longestName))
}

// describe is what is known of a function.
func (i *image) describe(f *function) (s checkpoint.Site) {
	defer func() { _ = recover() }() // of tables that debug/gosym and debug/dwarf have no answer to
	s = checkpoint.Site{Language: "c", Func: f.name, File: i.name, Kind: checkpoint.Function}
	if i.golang != nil {
		if file, line, fn := i.golang.PCToLine(f.start); fn != nil {
			s.Language, s.File, s.Line = "go", file, line
			return s
		}
	}
	if s.Func = demangled(f.name); s.Func != f.name {
		if s.Language = "cpp"; strings.HasPrefix(f.name, "_R") {
			s.Language = "rust"
		}
	}
	if i.debug == nil {
		return s
	}
	unit, err := i.debug.Reader().SeekPC(f.start)
	if err != nil {
		return s
	}
	lines, err := i.debug.LineReader(unit)
	var at dwarf.LineEntry
	if err == nil && lines != nil && lines.SeekPC(f.start, &at) == nil && at.File != nil {
		s.File, s.Line = at.File.Name, at.Line
	}
	return s
}
