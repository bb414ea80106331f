package python

import (
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// fake is memory of a process in which a code object of 3.12 lies.
type fake [4 * pageSize]byte

const (
	fakeBase = 0x10000
	fakeCode = fakeBase
	fakeFile = fakeBase + pageSize
	fakeName = fakeBase + 2*pageSize
)

func (f *fake) word(at, v uint64) { binary.LittleEndian.PutUint64(f[at-fakeBase:], v) }

// text puts a str of ASCII, which claims to have length characters.
func (f *fake) text(at uint64, s string, hash, length uint64) {
	f.word(at+16, length)
	f.word(at+24, hash)
	f.word(at+32, 1<<2|1<<5|1<<6)
	copy(f[at+40-fakeBase:], s)
}

func (f *fake) process() (*Process, *[]Function) {
	met := &[]Function{{}}
	p := &Process{memory: newMemory(1), codes: map[uint64]*code{}, threads: map[uint64]bool{}}
	p.site = func(f Function) checkpoint.SiteID {
		*met = append(*met, f)
		return checkpoint.SiteID(len(*met) - 1)
	}
	p.runtime = runtime{codeType: 0x20008, minor: 12, layout: tables[12]}
	p.memory.system = func(_ int, local []unix.Iovec, far []unix.RemoteIovec) (n int, err error) {
		for i := range far {
			at := int(far[i].Base) - fakeBase
			if at < 0 || at >= len(f) {
				return n, unix.EFAULT
			}
			n += copy(unsafeBytes(local[i]), f[at:at+pageSize])
		}
		return n, nil
	}
	f.word(fakeCode+8, 0x20008)
	f.word(fakeCode+112, fakeFile)
	f.word(fakeCode+120, fakeName)
	f.word(fakeCode+128, fakeName)
	f.text(fakeFile, "/w/main.py", 7, 10)
	f.text(fakeName, "first", 8, 5)
	return p, met
}

// siteOf is the site of the code object at an address.
func (p *Process) siteOf(at uint64) (checkpoint.SiteID, error) {
	c, err := p.codeAt(at)
	if err != nil {
		return 0, err
	}
	return c.site, nil
}

// Bytecode lies in the code object from 3.11 on.
func TestSpans(t *testing.T) {
	f := new(fake)
	p, _ := f.process()
	f.word(fakeCode+16, 5)
	if c, err := p.codeAt(fakeCode); err != nil || c.span != (Span{fakeCode + 192, fakeCode + 192 + 10 + 1}) {
		t.Errorf("%+v, %v", c, err)
	}
	f.word(fakeCode+16, 1<<40)
	p.memory.forget()
	if s, err := p.spanOf(fakeCode); err != nil || s != (Span{}) {
		t.Errorf("%+v, %v", s, err)
	}
	p.runtime.layout = tables[9]
	if s, err := p.spanOf(fakeCode); err != nil || s != (Span{}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// What marks a call from C, or where the interpreter was entered, is no function, and a reference to code may have
// tags.
func TestMarksAndTags(t *testing.T) {
	f := new(fake)
	p, met := f.process()
	l := &p.runtime.layout
	const thread, inner, mark, outer = fakeFile + 0x400, fakeFile + 0x500, fakeFile + 0x600, fakeFile + 0x700
	l.viaC = false
	f.word(thread+l.thread.frame, inner)
	for _, c := range []struct{ frame, code, previous, owner uint64 }{
		{inner, fakeCode | 1, mark, 0}, {mark, 0x7001, outer, 4}, {outer, fakeCode | 3, 0, 1},
	} {
		f.word(c.frame+l.frame.code, c.code)
		f.word(c.frame+l.frame.previous, c.previous)
		f[c.frame+l.frame.owner-fakeBase] = byte(c.owner)
	}
	leaf, err := p.walk(thread)
	if err != nil || len(p.path) != 2 || p.path[0] != p.path[1] || (*met)[p.path[0]].Name != "first" || leaf.From == 0 {
		t.Errorf("%v, %v, %+v, %v", p.path, leaf, *met, err)
	}
	f[mark+l.frame.owner-fakeBase] = 2
	p.memory.forget()
	if _, err := p.walk(thread); err == nil {
		t.Error("a frame without code was taken for a function")
	}
}

// Code whose texts came to lie where those of other code were is another function.
func TestCodeMadeAnew(t *testing.T) {
	f := new(fake)
	p, met := f.process()
	first, err := p.siteOf(fakeCode)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.siteOf(fakeCode); err != nil || again != first {
		t.Errorf("%d, %v", again, err)
	}
	f.text(fakeName, "other", 9, 5)
	p.memory.forget()
	other, err := p.siteOf(fakeCode)
	if err != nil {
		t.Fatal(err)
	}
	if (*met)[first].Name != "first" || (*met)[other].Qualname != "other" {
		t.Errorf("%+v", *met)
	}
}

// A text that is long is cut, and what says that it is ASCII and is not is no text.
func TestTexts(t *testing.T) {
	f := new(fake)
	p, met := f.process()
	f.text(fakeName, strings.Repeat("x", pageSize+100), 8, 1<<20)
	id, err := p.siteOf(fakeCode)
	if err != nil || len((*met)[id].Name) != longestText {
		t.Errorf("%d, %v", len((*met)[id].Name), err)
	}
	for name, hostile := range map[string]func(){
		"no ASCII": func() { f.text(fakeName, "a\xff", 9, 2) },
		"length":   func() { f.text(fakeName, "a", 10, 1<<40) },
	} {
		hostile()
		p.memory.forget()
		if _, err := p.siteOf(fakeCode); err != errAbsent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.memory.bytes(fakeBase, 1<<40); err != errAbsent {
		t.Error(err)
	}
}
