// Package syntax parses source text with tree-sitter.
//
// It takes text and a grammar and returns the whole tree as one flat slice, made by one
// parse and one walk in C. It gives up a parse that takes longer than its deadline,
// because error recovery can take quadratic time.
package syntax

/*
#cgo CFLAGS: -O2
#include <stdlib.h>
#include "walk.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	sitter "github.com/smacker/go-tree-sitter"
)

// Node is a node of a tree. Positions are as tree-sitter counts them: rows
// from 0, columns in bytes from 0.
type Node struct {
	Start, End     int // byte offsets; End is exclusive
	Row, Col       int
	EndRow, EndCol int
	Parent         int // index into Tree.Nodes, -1 at the root
	Type           string
	Field          string // the field of its parent that it fills, "" for none
	Named          bool
	Error          bool // text the grammar could not place
	Missing        bool // a token the parser supplied
}

// Tree is a parsed file. Parents precede their children; siblings stand in
// source order.
type Tree struct {
	Source []byte
	Nodes  []Node
	next   []int32 // index after the last descendant
}

// Grammar is a tree-sitter language with its names.
type Grammar struct {
	language unsafe.Pointer
	symbols  []string
	fields   []string
}

// Deadline is enough for any source file that people write. It bounds error
// recovery, which can be quadratic in the length of a broken file.
const Deadline = 10 * time.Second

// ErrDeadline says that the text took too long to parse.
var ErrDeadline = errors.New("syntax: parsing took too long")

// NewGrammar takes the names out of a grammar of the binding.
func NewGrammar(l *sitter.Language) *Grammar {
	// sitter.Language wraps one pointer to the C structure and has no
	// accessor for it.
	p := *(*unsafe.Pointer)(unsafe.Pointer(l))
	g := &Grammar{language: p}
	for i := range uint32(C.cg_symbols(p)) {
		g.symbols = append(g.symbols, C.GoString(C.cg_symbol(p, C.uint32_t(i))))
	}
	for i := range uint32(C.cg_fields(p)) + 1 {
		name := ""
		if s := C.cg_field(p, C.uint16_t(i)); s != nil {
			name = C.GoString(s)
		}
		g.fields = append(g.fields, name)
	}
	return g
}

// Lazy makes a grammar when it is first asked for.
func Lazy(language func() *sitter.Language) func() *Grammar {
	return sync.OnceValue(func() *Grammar { return NewGrammar(language()) })
}

// MaxBytes is the longest text that Parse takes: offsets in C have 32 bits.
const MaxBytes = 1 << 30

// Parse parses source within the deadline (0 for none).
func (g *Grammar) Parse(source []byte, deadline time.Duration) (*Tree, error) {
	if len(source) > MaxBytes {
		return nil, fmt.Errorf("syntax: %d bytes are more than %d", len(source), MaxBytes)
	}
	var nodes *C.cg_node
	var count C.uint32_t
	text := (*C.char)(unsafe.Pointer(unsafe.SliceData(source)))
	switch C.cg_walk(g.language, text, C.uint32_t(len(source)), C.uint64_t(deadline.Microseconds()), &nodes, &count) {
	case C.CG_DEADLINE:
		return nil, ErrDeadline
	case C.CG_NO_MEMORY:
		return nil, errors.New("syntax: out of memory")
	case C.CG_BAD_GRAMMAR:
		return nil, errors.New("syntax: the grammar does not fit the parser")
	}
	defer C.free(unsafe.Pointer(nodes))
	t := &Tree{Source: source, Nodes: make([]Node, count), next: make([]int32, count)}
	for i, n := range unsafe.Slice(nodes, int(count)) {
		kind := "ERROR"
		if int(n.symbol) < len(g.symbols) {
			kind = g.symbols[n.symbol]
		}
		t.Nodes[i] = Node{
			Start: int(n.start), End: int(n.end),
			Row: int(n.row), Col: int(n.column), EndRow: int(n.end_row), EndCol: int(n.end_column),
			Parent: int(n.parent), Type: kind, Field: g.fields[n.field],
			Named: n.named != 0, Error: n.error != 0, Missing: n.missing != 0,
		}
	}
	for i := int(count) - 1; i >= 0; i-- {
		t.next[i] = max(t.next[i], int32(i+1))
		if p := t.Nodes[i].Parent; p >= 0 {
			t.next[p] = max(t.next[p], t.next[i])
		}
	}
	return t, nil
}

// Children calls f with the index of each child of node i, named or not.
func (t *Tree) Children(i int, f func(child int)) {
	for c := i + 1; c < int(t.next[i]); c = int(t.next[c]) {
		f(c)
	}
}

// After is the index of the first node behind node i and all below it.
func (t *Tree) After(i int) int { return int(t.next[i]) }

// Field returns the first child of node i that fills the field, or -1.
func (t *Tree) Field(i int, field string) int {
	for c := i + 1; c < int(t.next[i]); c = int(t.next[c]) {
		if t.Nodes[c].Field == field {
			return c
		}
	}
	return -1
}

// Text is the source of node i.
func (t *Tree) Text(i int) string {
	return string(t.Source[t.Nodes[i].Start:t.Nodes[i].End])
}

// Faults counts the errors and supplied tokens, and returns the row of the
// first, from 0.
func (t *Tree) Faults() (count, row int) {
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Error || n.Missing {
			if count == 0 {
				row = n.Row
			}
			count++
		}
	}
	return count, row
}
