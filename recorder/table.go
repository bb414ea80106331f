package recorder

import (
	"fmt"
	"strings"
)

// Layer is the library that a function belongs to.
type Layer uint8

// The layers of calls, the numbers of Recorder's own tools first.
const (
	POSIX Layer = iota
	MPIIO
	MPI
	HDF5
	User // functions of the program, compiled with -finstrument-functions
	PnetCDF
	NetCDF
)

// Layers names the layers.
var Layers = [...]string{"posix", "mpi-io", "mpi", "hdf5", "user", "pnetcdf", "netcdf"}

// String is the name of the layer.
func (l Layer) String() string { return Layers[l] }

// LayerOf tells the layer of a function of Recorder's by its name.
func LayerOf(name string) Layer {
	name = strings.TrimPrefix(name, "P") // PMPI_...
	switch {
	case strings.HasPrefix(name, "MPI_File_"):
		return MPIIO
	case strings.HasPrefix(name, "MPI_"):
		return MPI
	case strings.HasPrefix(name, "H5"):
		return HDF5
	case strings.HasPrefix(name, "ncmpi"):
		return PnetCDF
	case strings.HasPrefix(name, "nc_"):
		return NetCDF
	}
	return POSIX
}

// Call is a distinct call: a function with its arguments. Records point to it.
type Call struct {
	// ID is the number of the call in its table, from 0 on without gaps.
	ID int
	// Func is the number of the function; one that is not among Trace.Functions is of
	// the program itself.
	Func int
	// Name is the function's, which for one of the program is its second argument.
	Name  string
	Layer Layer
	// Thread is the number of the thread, 0 where it was not recorded.
	Thread uint64
	// Level is how many recorded calls it lies in, on its thread.
	Level uint8
	// args are the arguments, with a blank between two.
	args  string
	count uint8
}

// Args are the arguments as text; blanks in them are _, and a file is its path.
func (c *Call) Args() []string {
	if c.count == 0 {
		return nil
	}
	return strings.Split(c.args, " ")
}

// Arg is an argument by its place, "" where there is none.
func (c *Call) Arg(i int) string {
	if i < 0 || i >= int(c.count) {
		return ""
	}
	rest := c.args
	for ; i > 0; i-- {
		_, rest, _ = strings.Cut(rest, " ")
	}
	arg, _, _ := strings.Cut(rest, " ")
	return arg
}

// Line is the arguments with a blank between two.
func (c *Call) Line() string { return c.args }

// table is a table of calls by their numbers.
type table struct{ calls []Call }

// Tables (CST) have an i32 number of entries. Of each (i32 number, i32 rank, i32 length,
// u32 count, key), in 2.3 without rank and count. A key is
//
//	u64 thread, function, u8 level, u8 arguments, i32 length, each argument and a blank
//
// where the function has one byte in 2.x and four in 3.x.
func (t *Trace) parseTable(b []byte) (*table, error) {
	head := 16
	if t.layout == plain23 {
		head = 8
	}
	if len(b) < 4 {
		return nil, fmt.Errorf("a table of calls has %d bytes", len(b))
	}
	n := int(int32(little.Uint32(b)))
	b = b[4:]
	whole := string(b) // what the calls keep
	if n < 0 || n > len(b)/(head+shortestKey) {
		return nil, fmt.Errorf("a table says that it has %d calls, and has %d bytes", n, len(b))
	}
	out := &table{calls: make([]Call, n)}
	seen := make([]bool, n)
	width := 0
	for i := range n {
		if len(b) < head {
			return nil, fmt.Errorf("call %d of %d: the table ends", i, n)
		}
		id, length := int(int32(little.Uint32(b))), int(int32(little.Uint32(b[4:])))
		if head == 16 {
			length = int(int32(little.Uint32(b[8:])))
		}
		b = b[head:]
		if length < shortestKey || length > len(b) {
			return nil, fmt.Errorf("call %d of %d: a key of %d bytes, and %d are left", i, n, length, len(b))
		}
		if id < 0 || id >= n || seen[id] {
			return nil, fmt.Errorf("call %d of %d has the number %d, which is of another or of none", i, n, id)
		}
		seen[id] = true
		key, text := b[:length], whole[len(whole)-len(b):][:length]
		b = b[length:]
		if width == 0 {
			if width = t.keyWidth(key); width == 0 {
				return nil, fmt.Errorf("call %d of %d: its key is of an unknown form", i, n)
			}
		}
		c, err := t.parseKey(key, text, width)
		if err != nil {
			return nil, fmt.Errorf("call %d of %d: %w", i, n, err)
		}
		c.ID = id
		out.calls[id] = c
	}
	return out, nil
}

// shortestKey is the length of a key without arguments.
const shortestKey = 15

// keyWidth is how many bytes the number of the function has, 0 where none fits.
func (t *Trace) keyWidth(key []byte) int {
	widths := []int{1}
	if t.layout == packed3 || t.layout == combined {
		widths = []int{4, 1}
	}
	for _, w := range widths {
		if at := 8 + w + 2; len(key) >= at+4 && int(int32(little.Uint32(key[at:]))) == len(key)-at-4 {
			return w
		}
	}
	return 0
}

// parseKey reads a key, which is given as bytes and as text.
func (t *Trace) parseKey(key []byte, text string, width int) (c Call, err error) {
	at := 8 + width
	if len(key) < at+6 {
		return c, fmt.Errorf("a key of %d bytes", len(key))
	}
	c.Thread, c.Func = little.Uint64(key), int(key[8])
	if width == 4 {
		c.Func = int(int32(little.Uint32(key[8:])))
	}
	c.Level = key[at]
	count, length := int(key[at+1]), int(int32(little.Uint32(key[at+2:])))
	text = text[at+6:]
	if length != len(text) {
		return c, fmt.Errorf("its arguments have %d bytes and should have %d", len(text), length)
	}
	if strings.Count(text, " ") != count || count > 0 && text[len(text)-1] != ' ' || count == 0 && len(text) > 0 {
		return c, fmt.Errorf("it does not have the %d arguments that it says", count)
	}
	if count > 0 {
		c.args, c.count = text[:len(text)-1], uint8(count)
	}
	if c.Func >= 0 && c.Func < len(t.Functions) {
		c.Name = t.Functions[c.Func]
		c.Layer = LayerOf(c.Name)
		return c, nil
	}
	c.Layer = User
	if c.Name = c.Arg(1); c.Name == "" {
		c.Name = "?"
	}
	return c, nil
}
