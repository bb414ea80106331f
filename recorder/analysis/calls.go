package analysis

import (
	"math"
	"strconv"
	"strings"

	"cg/recorder"
)

// kind is what a call does to a file.
type kind uint8

const (
	nothing kind = iota
	reading
	writing
	opening
	seeking
	closing // and sync
)

// op is what a distinct call does.
type op struct {
	function int
	kind     kind
	file     int32 // whose data or position it is of, -1 for none
	named    int32 // file for the rank's list, -1 for none
	count    int64 // bytes, of data; distance, of seeks
	// slope and offset are where it begins: offset + slope * rank, if at is set.
	slope, offset int64
	at            bool
	whence        int64   // of seeks
	end           bool    // opened to append
	size          *uint64 // where accesses of its size are counted, once one was
}

// form is where a function of POSIX has its arguments.
type form struct {
	kind          kind
	file          int
	count, factor int // of bytes; factor is -1 for none
	offset        int // -1 where it begins at the file's position
}

// forms are the functions that are of interest, by their names.
var forms = map[string]form{
	"read": {reading, 0, 2, -1, -1}, "write": {writing, 0, 2, -1, -1},
	"pread": {reading, 0, 2, -1, 3}, "pread64": {reading, 0, 2, -1, 3},
	"pwrite": {writing, 0, 2, -1, 3}, "pwrite64": {writing, 0, 2, -1, 3},
	"readv": {reading, 0, 1, -1, -1}, "writev": {writing, 0, 1, -1, -1},
	"fread": {reading, 3, 1, 2, -1}, "fwrite": {writing, 3, 1, 2, -1},
	"fprintf": {writing, 0, 1, -1, -1}, "vfprintf": {writing, 0, 1, -1, -1},
	"open": {opening, 0, -1, -1, -1}, "open64": {opening, 0, -1, -1, -1},
	"creat": {opening, 0, -1, -1, -1}, "creat64": {opening, 0, -1, -1, -1},
	"fopen": {opening, 0, -1, -1, -1}, "fopen64": {opening, 0, -1, -1, -1}, "fdopen": {opening, 0, -1, -1, -1},
	"close": {closing, 0, -1, -1, -1}, "fclose": {closing, 0, -1, -1, -1},
	"fsync": {closing, 0, -1, -1, -1}, "fdatasync": {closing, 0, -1, -1, -1},
	"lseek": {seeking, 0, 1, -1, 2}, "lseek64": {seeking, 0, 1, -1, 2},
	"fseek": {seeking, 0, 1, -1, 2}, "fseeko": {seeking, 0, 1, -1, 2},
}

// openAppend is O_APPEND of Linux (asm-generic/fcntl.h).
const openAppend = 0x400

// opOf tells what a call does.
func (a *reader) opOf(c *recorder.Call) op {
	o := op{file: -1, named: -1}
	f, known := forms[c.Name]
	if c.Layer != recorder.POSIX || !known {
		return o
	}
	name := c.Arg(f.file)
	if name == "" {
		a.left["arguments"]++
		return o
	}
	o.kind = f.kind
	id := a.file(name)
	if f.kind >= opening {
		o.named = id
	}
	if !ignored(name) {
		o.file = id
	}
	good := true
	number := func(i int) int64 {
		n, err := strconv.ParseInt(c.Arg(i), 10, 64)
		good = good && err == nil
		return n
	}
	switch f.kind {
	case reading, writing:
		o.count = number(f.count)
		if f.factor >= 0 {
			times := number(f.factor)
			if o.count < 0 || times < 0 || times > 0 && o.count > math.MaxInt64/times {
				good = false
			} else {
				o.count *= times
			}
		}
		if f.offset >= 0 {
			var ok bool
			o.slope, o.offset, ok = offsetOf(c.Arg(f.offset))
			o.at, good = true, good && ok
		}
		good = good && o.count >= 0 && o.count < 1<<56
	case seeking:
		o.count, o.whence = number(1), number(2)
	case opening:
		mode := c.Arg(1)
		if flags, err := strconv.ParseInt(mode, 10, 64); err == nil && strings.HasPrefix(c.Name, "open") {
			o.end = flags&openAppend != 0
		} else {
			o.end = strings.Contains(mode, "a")
		}
	}
	if !good {
		a.left["arguments"]++
		return op{file: -1, named: o.named}
	}
	return o
}

// offsetOf reads an offset: a number, or a*r+b, which Recorder writes where the offsets of
// all ranks are a line.
func offsetOf(s string) (slope, offset int64, ok bool) {
	if before, after, is := strings.Cut(s, "*r+"); is {
		a, err1 := strconv.ParseInt(before, 10, 64)
		b, err2 := strconv.ParseInt(after, 10, 64)
		return a, b, err1 == nil && err2 == nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return 0, n, err == nil
}

// ignored reports whether a file is none of the program's data, as recorder-viz has it.
func ignored(name string) bool {
	for _, prefix := range []string{"/sys/", "/proc", "/etc/", "stdout", "stderr", "stdin"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "" || strings.Contains(name, "pipe:")
}
