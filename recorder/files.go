package recorder

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openFile opens a file, and refuses what is none: a pipe or a device would block, or never end.
func openFile(name string) (*os.File, int64, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, 0, reason(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, 0, reason(err)
	}
	return f, info.Size(), nil
}

// readFile reads a file of at most so many bytes.
func readFile(name string, most int64) ([]byte, error) {
	f, size, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > most {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", size, most)
	}
	b := make([]byte, size)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:n], reason(err)
}

// The kinds of sections of recorder.dat.
const (
	sectionMeta = iota
	sectionTimes
	sectionTable
	sectionGrammars
	sectionUnique
	sectionRankTable
	sectionRankGrammar
)

// section is a part of recorder.dat.
type section struct {
	kind         uint32
	rank         int32 // -1 for all ranks
	offset, size int64
}

// sections are the parts of recorder.dat:
//
//	"RECORDER", u32 version, u32 number; of each u32 kind, i32 rank, u64 offset, u64 size
type sections struct {
	name string
	all  map[[2]int32]section
}

func openSections(name string) (*sections, error) {
	f, size, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head[:8], []byte("RECORDER")) {
		return nil, fmt.Errorf("%w: it does not begin with RECORDER", ErrNoTrace)
	}
	n := int64(little.Uint32(head[12:]))
	if n > (size-16)/24 || n > 4*maxRanks {
		return nil, fmt.Errorf("it has %d sections and %d bytes", n, size)
	}
	s := &sections{name: name, all: make(map[[2]int32]section, n)}
	list := io.NewSectionReader(f, 16, n*24)
	entry := make([]byte, 24)
	for i := range n {
		if _, err := io.ReadFull(list, entry); err != nil {
			return nil, fmt.Errorf("section %d: %w", i, reason(err))
		}
		e := section{little.Uint32(entry), int32(little.Uint32(entry[4:])), int64(little.Uint64(entry[8:])),
			int64(little.Uint64(entry[16:]))}
		if e.offset < 0 || e.size < 0 || e.offset > size || e.size > size-e.offset {
			return nil, fmt.Errorf("section %d: %d bytes at %d, and the file has %d", i, e.size, e.offset, size)
		}
		s.all[[2]int32{int32(e.kind), e.rank}] = e
	}
	return s, nil
}

// find is the section of a kind and rank.
func (s *sections) find(kind, rank int) (section, error) {
	e, ok := s.all[[2]int32{int32(kind), int32(rank)}]
	if !ok {
		return e, fmt.Errorf("it has no section of kind %d and rank %d", kind, rank)
	}
	return e, nil
}

// read reads a section of at most so many bytes.
func (s *sections) read(kind, rank int, most int64) ([]byte, error) {
	e, err := s.find(kind, rank)
	if err != nil {
		return nil, err
	}
	if e.size > most {
		return nil, fmt.Errorf("a section has %d bytes, and at most %d are read", e.size, most)
	}
	f, _, err := openFile(s.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, e.size)
	_, err = f.ReadAt(b, e.offset)
	return b, reason(err)
}

// block is one that Recorder 3 compressed: u64 packed size, u64 size, zlib. It gives the
// text and what follows the block.
func block(b []byte) (text, rest []byte, err error) {
	if len(b) < 16 {
		return nil, nil, fmt.Errorf("it ends after %d bytes, within the head of a block", len(b))
	}
	packed, size := little.Uint64(b), little.Uint64(b[8:])
	if packed > uint64(len(b)-16) {
		return nil, nil, fmt.Errorf("a block has %d bytes, and %d are left", packed, len(b)-16)
	}
	if most := min(maxTable, maxLoose+maxRatio*packed); size > most {
		return nil, nil, fmt.Errorf("a block of %d bytes unpacks to %d bytes, and at most %d are read", packed,
			size, most)
	}
	z, err := zlib.NewReader(bytes.NewReader(b[16 : 16+packed]))
	if err != nil {
		return nil, nil, fmt.Errorf("a block is no zlib: %w", err)
	}
	var unpacked bytes.Buffer // grows with what is there, not with what is said
	n, err := io.Copy(&unpacked, io.LimitReader(z, int64(size)+1))
	if err != nil {
		return nil, nil, fmt.Errorf("a block is broken: %w", err)
	}
	text = unpacked.Bytes()
	if uint64(n) != size {
		return nil, nil, fmt.Errorf("a block does not unpack to its %d bytes", size)
	}
	return text, b[16+packed:], nil
}

// cutBlocks cuts a text of n blocks into these, without unpacking them.
func cutBlocks(b []byte, n int) ([][]byte, error) {
	if n > len(b)/16 {
		return nil, fmt.Errorf("%d blocks have more than its %d bytes", n, len(b))
	}
	out := make([][]byte, n)
	for i := range out {
		if len(b) < 16 || little.Uint64(b) > uint64(len(b)-16) {
			return nil, fmt.Errorf("block %d of %d: %d bytes are left", i, n, len(b))
		}
		end := 16 + little.Uint64(b)
		out[i], b = b[:end], b[end:]
	}
	return out, nil
}
