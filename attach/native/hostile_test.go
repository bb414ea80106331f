package native

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cg/attach/perf"
	"cg/checkpoint"
)

// section is one of a file that is written for a test.
type section struct {
	name   string
	header elf.Section64
	data   []byte
}

// written is a file for x86-64 with sections from number 2 on, and a segment from the first of these on.
func written(t *testing.T, sections ...section) *os.File {
	t.Helper()
	names := section{name: ".shstrtab", header: elf.Section64{Type: uint32(elf.SHT_STRTAB)}, data: []byte{0}}
	sections = append([]section{{}, names}, sections...)
	for i := range sections {
		sections[i].header.Name = uint32(len(sections[1].data))
		sections[1].data = append(append(sections[1].data, sections[i].name...), 0)
	}
	header := elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Version: 1,
		Machine: uint16(elf.EM_X86_64), Ehsize: 64, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 1,
		Phoff: 64, Phentsize: 56, Phnum: 1}
	load := elf.Prog64{Type: uint32(elf.PT_LOAD), Vaddr: sections[2].header.Addr, Filesz: 1 << 20, Memsz: 1 << 20}
	var body, file bytes.Buffer
	for i := range sections {
		sections[i].header.Off, sections[i].header.Size = uint64(64+56+body.Len()), uint64(len(sections[i].data))
		body.Write(sections[i].data)
	}
	header.Shoff = uint64(64 + 56 + body.Len())
	binary.Write(&file, binary.LittleEndian, header)
	binary.Write(&file, binary.LittleEndian, load)
	file.Write(body.Bytes())
	for _, s := range sections {
		binary.Write(&file, binary.LittleEndian, s.header)
	}
	path := filepath.Join(t.TempDir(), "app")
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// withSymbol are the sections of a file with code and a function of some name at address 0x10.
func withSymbol(name string, textAt uint64) []section {
	var symbol bytes.Buffer
	binary.Write(&symbol, binary.LittleEndian, [2]elf.Sym64{{}, {Name: 1, Shndx: 2, Value: 0x10, Size: 0x10,
		Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC)}})
	return []section{
		{name: ".text", header: elf.Section64{Type: uint32(elf.SHT_PROGBITS), Addr: textAt}, data: make([]byte, 64)},
		{name: ".symtab", header: elf.Section64{Type: uint32(elf.SHT_SYMTAB), Link: 4, Entsize: 24}, data: symbol.Bytes()},
		{name: ".strtab", header: elf.Section64{Type: uint32(elf.SHT_STRTAB)}, data: []byte("\x00" + name + "\x00")},
	}
}

// readerOf is a reader of a process 7 that has mapped the file at base.
func readerOf(t *testing.T, f *os.File) (*Reader, *named) {
	t.Helper()
	n := &named{}
	r := newReader(n.number)
	i := &image{name: "/bin/app"}
	i.read(&limited{f, mostFile})
	if len(i.functions) != 1 {
		t.Fatalf("%d functions", len(i.functions))
	}
	r.files.known[file{8, 1, 99}] = i
	r.spaces[7] = newSpace(7)
	r.spaces[7].add(perf.Mapping{Start: base, End: base + 0x1000, Major: 8, Minor: 1, Inode: 99, Name: "/bin/app"})
	return r, n
}

// Code may be said to be at the end of all addresses.
func TestTextAtTheEnd(t *testing.T) {
	r, n := readerOf(t, written(t, withSymbol("leaf", ^uint64(0)-3)...))
	r.take(sampled(base+0x18, top, base+2))
	if len(r.looks) != 1 || n.path(r.looks[0].Path) != "leaf" {
		t.Errorf("%+v", r.looks)
	}
}

// What there is no answer to is a sample of no function.
func TestPanicOfAFile(t *testing.T) {
	r, _ := simulated()
	r.files.number = func(checkpoint.Site) checkpoint.SiteID { panic("index out of range") }
	r.take(sampled(base+0x120, top))
	if len(r.looks) != 1 || len(r.looks[0].Path) != 0 {
		t.Errorf("%+v", r.looks)
	}
}

// A name of C++ can double with each two bytes.
func TestNameThatGrows(t *testing.T) {
	for _, name := range []string{
		"_Z1fI" + growing(60) + "EvT_",
		"_Z1f" + strings.Repeat("P", 1<<20) + "i",
	} {
		s := (&image{}).describe(&function{name: name})
		if len(s.Func) == 0 || len(s.Func) > 1<<longestName {
			t.Errorf("%.20s is a name of %d bytes", name, len(s.Func))
		}
	}
}

// growing is a type of C++ that has another twice, and so on.
func growing(depth int) string {
	types := "1aIiiE"
	for n := range depth {
		last := "S" + strings.ToUpper(strconv.FormatInt(int64(2*n+1), 36)) + "_"
		types += "1bI" + last + last + "E"
	}
	return types
}

// What a file inflates to, or has many times, is not read.
func TestFilesThatGrow(t *testing.T) {
	for _, test := range []struct {
		name  string
		debug section
	}{
		{"compressed", section{name: ".debug_info", header: elf.Section64{Flags: uint64(elf.SHF_COMPRESSED)},
			data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1), 1<<40)}},
		{"compressed as long ago", section{name: ".zdebug_info",
			data: binary.BigEndian.AppendUint64([]byte("ZLIB"), 1<<40)}},
		{"relocated", section{header: elf.Section64{Type: uint32(elf.SHT_RELA), Info: 2, Flags: uint64(elf.SHF_COMPRESSED)},
			data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1), 1<<40)}},
	} {
		test.debug.data = append(test.debug.data, make([]byte, 64)...)
		e, err := elf.NewFile(written(t, append(withSymbol("f", 0), test.debug)...))
		if err != nil {
			t.Fatal(err)
		}
		if got := debugBytes(e); got != 1<<40 {
			t.Errorf("%s: %d bytes", test.name, got)
		}
	}
	many := make([]section, 100)
	many[0].name = strings.Repeat("x", 1<<20)
	if readable(written(t, many...)) {
		t.Error("names of sections that share a text of 1 MiB are read")
	}
	if !readable(written(t, withSymbol("f", 0)...)) {
		t.Error("a usual file is not read")
	}
}

// What is read of files is counted, and has an end for each and for all together.
func TestReadOfFiles(t *testing.T) {
	f := written(t, withSymbol("f", 0)...)
	whole, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		room int64
		want int
	}{{mostFile, 1}, {whole.Size() / 2, 0}, {0, 0}, {-1, 0}} {
		i, l := &image{}, &limited{f, test.room}
		if i.read(l); len(i.functions) != test.want || l.left > test.room || l.left < min(0, test.room) {
			t.Errorf("%d bytes: %d functions, %d left", test.room, len(i.functions), l.left)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(f.Name(), &st); err != nil {
		t.Fatal(err)
	}
	m := perf.Mapping{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Inode: st.Ino, Name: f.Name()}
	fs := &newReader(nil).files
	if fs.image(1<<30, &m); fs.read == 0 {
		t.Error("what was read is not counted")
	}
	clear(fs.known)
	fs.read = mostFiles
	if i := fs.image(1<<30, &m); len(i.functions) != 0 || fs.read != mostFiles {
		t.Errorf("%d functions, %d bytes read", len(i.functions), fs.read)
	}
}

// The queue has an end for records without a stack, too.
func TestQueued(t *testing.T) {
	r := &perf.Record{Kind: perf.Map, Mapping: perf.Mapping{Name: "/lib/x.so"}}
	if queued(r) < 100 {
		t.Errorf("%d bytes", queued(r))
	}
}
