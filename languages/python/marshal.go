package python

import (
	"encoding/binary"
	"errors"
)

// errMarshal says that bytes are not a module's code as marshal of Python 3.11 to 3.13 writes it.
var errMarshal = errors.New("not marshalled code of a known form")

// object is a value that marshal writes (Python/marshal.c). Equal values of a module are one
// object, but for code, sets, and tuples of constants.
type object struct {
	kind  byte
	raw   string    // what stands behind the letter, and in code before the other objects
	items []*object // of sequences, and of code: see the constants below
	line  uint32    // the first line of code
	woven bool      // code that has its checkpoints
	id    uint32
	times int    // in which the object is referred to, while it is written
	ref   uint32 // number of the object among those that are referred to, plus 1
}

// The objects in a code object. first line stands behind the name.
const (
	codeBytes = iota
	codeConsts
	codeNames
	codeLocals
	codeLocalKinds
	codeFile
	codeName
	codeQualname
	codeLines
	codeExceptions
	codeObjects
)

// codeHead is the size of five numbers before the objects of code: arguments, those by
// position and by keyword only, size of the stack, flags.
const codeHead = 20

var none = &object{kind: 'N'}

// unmarshaller reads marshalled code.
type unmarshaller struct {
	data    string // what is left
	refs    []*object
	leaves  map[leaf]*object   // those without others in them
	tuples  map[string]*object // by the numbers of their items
	made    uint32
	key     []byte
	objects []object  // that nobody has
	items   []*object // the same
}

// leaf is what tells objects without others in them apart.
type leaf struct {
	kind byte
	raw  string
}

// unmarshal reads the code of a module.
func unmarshal(data []byte) (*object, error) {
	u := &unmarshaller{data: string(data), leaves: make(map[leaf]*object, len(data)/32), tuples: map[string]*object{}}
	o, err := u.object(0)
	if err == nil && (len(u.data) > 0 || o.kind != 'c') {
		err = errMarshal
	}
	return o, err
}

// take takes n bytes.
func (u *unmarshaller) take(n int) (string, error) {
	if n < 0 || n > len(u.data) {
		return "", errMarshal
	}
	b := u.data[:n]
	u.data = u.data[n:]
	return b, nil
}

// number takes a number of a size of 1 or 4 bytes.
func (u *unmarshaller) number(size int) (int, error) {
	b, err := u.take(size)
	if err != nil {
		return 0, err
	}
	if size == 1 {
		return int(b[0]), nil
	}
	return int(int32(little(b))), nil
}

// little is the number in four bytes.
func little(b string) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

const deepest = 500 // objects in objects

func (u *unmarshaller) object(depth int) (*object, error) {
	if len(u.data) == 0 || depth > deepest {
		return nil, errMarshal
	}
	kind, flag := u.data[0]&127, u.data[0] >= 128
	start := u.data
	u.data = u.data[1:]
	if kind == 'r' {
		n, err := u.number(4)
		if err != nil || n < 0 || n >= len(u.refs) || u.refs[n] == nil {
			return nil, errMarshal
		}
		return u.refs[n], nil
	}
	place := len(u.refs)
	if flag {
		u.refs = append(u.refs, nil)
	}
	var o *object
	var err error
	switch kind {
	case 'c':
		o, err = u.code(depth)
	case '(', ')', '<', '>':
		o, err = u.sequence(kind, depth)
	default:
		var n int
		if n, err = u.leafSize(kind); err != nil {
			return nil, err
		}
		if _, err = u.take(n); err != nil {
			return nil, err
		}
		o = u.leaf(leaf{kind, start[1 : len(start)-len(u.data)]})
	}
	if err != nil {
		return nil, err
	}
	if flag {
		u.refs[place] = o
	}
	return o, nil
}

// leafSize is how many bytes of an object without others are left; those of its size
// have been taken.
func (u *unmarshaller) leafSize(kind byte) (int, error) {
	switch kind {
	case 'N', 'F', 'T', '.', 'S':
		return 0, nil
	case 'i':
		return 4, nil
	case 'g':
		return 8, nil
	case 'y':
		return 16, nil
	case 'z', 'Z':
		return u.number(1)
	case 's', 'u', 't', 'a', 'A':
		return u.number(4)
	case 'l':
		n, err := u.number(4)
		return 2 * max(n, -n), err
	}
	return 0, errMarshal
}

func (u *unmarshaller) leaf(l leaf) *object {
	o := u.leaves[l]
	if o == nil {
		o = u.new(l.kind)
		o.raw = l.raw
		u.leaves[l] = o
	}
	return o
}

// together is for how many objects memory is taken at once.
const together = 256

func (u *unmarshaller) new(kind byte) *object {
	if len(u.objects) == 0 {
		u.objects = make([]object, together)
	}
	o := &u.objects[0]
	u.objects = u.objects[1:]
	u.made++
	o.kind, o.id = kind, u.made
	return o
}

// room is for the items of an object.
func (u *unmarshaller) room(n int) []*object {
	if n > len(u.items) {
		u.items = make([]*object, max(n, 4*together))
	}
	items := u.items[:n:n]
	u.items = u.items[n:]
	return items
}

// sequence reads a tuple or a set.
func (u *unmarshaller) sequence(kind byte, depth int) (*object, error) {
	size := 4
	if kind == ')' {
		size = 1
	}
	n, err := u.number(size)
	if err != nil || n < 0 || n > len(u.data) {
		return nil, errMarshal
	}
	items := u.room(n)
	for i := range items {
		if items[i], err = u.object(depth + 1); err != nil {
			return nil, err
		}
	}
	if kind == '<' || kind == '>' {
		o := u.new(kind)
		o.items = items
		return o, nil
	}
	u.key = u.key[:0]
	for _, item := range items {
		u.key = binary.LittleEndian.AppendUint32(u.key, item.id)
	}
	if old := u.tuples[string(u.key)]; old != nil {
		return old, nil
	}
	o := u.new('(')
	o.items = items
	u.tuples[string(u.key)] = o
	return o, nil
}

func (u *unmarshaller) code(depth int) (*object, error) {
	o := u.new('c')
	var err error
	if o.raw, err = u.take(codeHead); err != nil {
		return nil, err
	}
	o.items = u.room(codeObjects)
	for i := range o.items {
		if i == codeLines {
			b, err := u.take(4)
			if err != nil {
				return nil, err
			}
			o.line = little(b)
		}
		if o.items[i], err = u.object(depth + 1); err != nil {
			return nil, err
		}
	}
	consts := o.items[codeConsts]
	if consts.kind != '(' {
		return nil, errMarshal
	}
	for _, i := range []int{codeBytes, codeLines, codeExceptions} {
		if o.items[i].kind != 's' {
			return nil, errMarshal
		}
	}
	// Nothing else refers to the constants of code that gets checkpoints.
	own := u.new('(')
	own.items = consts.items
	o.items[codeConsts] = own
	return o, nil
}

// bytes is the content of a string of bytes.
func (o *object) bytes() string { return o.raw[4:] }

func newBytes(b []byte) *object {
	return &object{kind: 's', raw: string(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))) + string(b)}
}

// marshaller writes objects: each that stands in several places once, and references to it.
type marshaller struct {
	out  []byte
	refs uint32
}

// marshal writes the code of a module.
func marshal(o *object) []byte {
	o.count()
	m := &marshaller{}
	m.object(o)
	return m.out
}

func (o *object) count() {
	if o.times++; o.times > 1 {
		return
	}
	for _, item := range o.items {
		item.count()
	}
}

func (m *marshaller) object(o *object) {
	if o.ref > 0 {
		m.out = binary.LittleEndian.AppendUint32(append(m.out, 'r'), o.ref-1)
		return
	}
	kind := o.kind
	if kind == '(' && len(o.items) < 256 {
		kind = ')'
	}
	if o.times > 1 {
		switch kind {
		case 'N', 'F', 'T', '.', 'S':
		default:
			m.refs++
			o.ref = m.refs
			kind |= 128
		}
	}
	m.out = append(append(m.out, kind), o.raw...)
	switch kind & 127 {
	case ')':
		m.out = append(m.out, byte(len(o.items)))
	case '(', '<', '>':
		m.out = binary.LittleEndian.AppendUint32(m.out, uint32(len(o.items)))
	}
	for i, item := range o.items {
		if o.kind == 'c' && i == codeLines {
			m.out = binary.LittleEndian.AppendUint32(m.out, o.line)
		}
		m.object(item)
	}
}
