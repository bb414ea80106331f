package perf

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// words is a record of 64-bit numbers.
func words(kind uint32, misc uint16, all ...uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint16(b, misc)
	b = binary.LittleEndian.AppendUint16(b, uint16(headerBytes+8*len(all)))
	for _, w := range all {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// pair is two 32-bit numbers.
func pair(a, b uint32) uint64 { return uint64(a) | uint64(b)<<32 }

// sampled is a sample of a thread, whose registers are 0x100 and so on in the order of placed, with two
// words of the stack, of which the thread has one.
func sampled() []byte {
	all := []uint64{pair(7, 8), 1000, 44, abi64}
	for i := range placed {
		all = append(all, uint64(0x100+i))
	}
	return words(unix.PERF_RECORD_SAMPLE, 0, append(all, 16, 0xa, 0xb, 8)...)
}

func TestRecords(t *testing.T) {
	mapped := words(unix.PERF_RECORD_MMAP2, 0, pair(7, 8), 0x1000, 0x500, 0x40, pair(8, 1), 99, 0, pair(5, 2),
		0x6262612f /* /abb */, pair(7, 8), 1001, 44)
	for _, test := range []struct {
		b    []byte
		want Record
	}{
		{mapped, Record{Kind: Map, PID: 7, TID: 8, At: 1001, Mapping: Mapping{Start: 0x1000, End: 0x1500, Offset: 0x40,
			Major: 8, Minor: 1, Inode: 99, Name: "/abb"}}},
		{words(unix.PERF_RECORD_COMM, unix.PERF_RECORD_MISC_COMM_EXEC, pair(7, 7), 0x61, pair(7, 7), 5, 44),
			Record{Kind: Exec, PID: 7, TID: 7, At: 5}},
		{words(unix.PERF_RECORD_FORK, 0, pair(9, 7), pair(10, 7), 6, pair(7, 7), 6, 44),
			Record{Kind: Fork, PID: 9, Parent: 7, TID: 10, At: 6}},
		{words(unix.PERF_RECORD_EXIT, 0, pair(9, 7), pair(10, 7), 6, pair(7, 7), 6, 44),
			Record{Kind: Exit, PID: 9, Parent: 7, TID: 10, At: 6}},
		{words(unix.PERF_RECORD_LOST, 0, 1, 12, pair(7, 7), 6, 44), Record{Kind: Lost, PID: 7, TID: 7, Lost: 12, At: 6}},
		{words(unix.PERF_RECORD_THROTTLE, 0, 6, 44, 44, pair(7, 8), 6, 44), Record{Kind: Throttled, PID: 7, TID: 8, At: 6}},
	} {
		got, ok := parse(test.b)
		if !ok || got.event != 44 || got.by != binary.LittleEndian.Uint32(test.b[len(test.b)-20:]) || got.Mapping != test.want.Mapping {
			t.Errorf("%x is %+v", test.b, got)
			continue
		}
		if got.Kind != test.want.Kind || got.PID != test.want.PID || got.TID != test.want.TID || got.At != test.want.At ||
			got.Parent != test.want.Parent || got.Lost != test.want.Lost {
			t.Errorf("%+v, want %+v", got, test.want)
		}
	}
	if _, ok := parse(words(unix.PERF_RECORD_COMM, 0, pair(7, 7), 0x61, pair(7, 7), 5, 44)); ok {
		t.Error("a new name of a thread is another program")
	}
	got, ok := parse(sampled())
	if !ok || got.Kind != Sample || got.PID != 7 || got.TID != 8 || got.At != 1000 {
		t.Fatalf("%+v", got)
	}
	r := got.Registers
	if r[0] != 0x100 || r[6] != 0x106 || r[7] != 0x107 || r[16] != 0x108 || r[15] != 0x110 || len(got.Stack) != 8 {
		t.Errorf("%+v", got)
	}
}

// A thread that inherited the events of another, and has its own, writes each record twice.
func TestRecordsOnce(t *testing.T) {
	s := &Sampler{owner: map[uint64]uint32{1: 7, 2: 8, 3: 0}, own: map[uint32]bool{7: true, 8: true}}
	for _, test := range []struct {
		name  string
		r     Record
		count bool
	}{
		{"its own", Record{Kind: Sample, by: 8, event: 2}, true},
		{"of the one that started it", Record{Kind: Sample, by: 8, event: 1}, false},
		{"of one without its own", Record{Kind: Sample, by: 9, event: 1}, true},
		{"of a prepared program", Record{Kind: Sample, by: 10, event: 3}, true},
		{"an inherited end", Record{Kind: Exit, TID: 8, by: 8, event: 1}, false},
		{"its end", Record{Kind: Exit, TID: 8, by: 8, event: 2}, true},
		{"another with its number", Record{Kind: Sample, by: 8, event: 1}, true},
	} {
		if got := s.counts(&test.r); got != test.count {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// A ring is read over its end, and up to where the kernel has written.
func TestRing(t *testing.T) {
	const page, size = 4096, 512
	memory := make([]byte, page+size)
	head := (*uint64)(unsafe.Pointer(&memory[headAt]))
	tail := (*uint64)(unsafe.Pointer(&memory[tailAt]))
	*head, *tail = size-64, size-64
	for range 3 {
		for _, b := range sampled() {
			memory[page+*head%size] = b
			*head++
		}
		n := 0
		drain(memory, page, nil, func(r *Record) {
			if n++; r.PID != 7 || len(r.Stack) != 8 {
				t.Errorf("%+v", r)
			}
		})
		if n != 1 || *head != *tail {
			t.Fatalf("%d records; %d of %d are read", n, *tail, *head)
		}
	}
	*head += 16 // of zeros
	clear(memory[page:])
	drain(memory, page, nil, func(*Record) { t.Error("a record of nothing") })
	if *head != *tail {
		t.Error("a broken ring is not left behind")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sampled())
	f.Fuzz(func(_ *testing.T, b []byte) {
		if len(b) >= headerBytes {
			parse(b)
		}
	})
}

// A thread can be sampled, or the error says why not and what to do.
func TestCheck(t *testing.T) {
	err := Check(os.Getpid())
	if err != nil && !strings.Contains(err.Error(), "perf events") && !strings.Contains(err.Error(), "x86-64") {
		t.Error(err)
	}
	for _, err := range []error{unix.EACCES, unix.EPERM, unix.ENOSYS, unix.ENOENT, unix.EMFILE, unix.EINVAL, errRing} {
		if told := explained(err).Error(); !strings.Contains(told, "perf events") || strings.Contains(told, "\n") {
			t.Error(told)
		}
	}
	if err := Check(1 << 30); err == nil {
		t.Error("a thread that is not there is sampled")
	}
}

// Where a thread can be sampled, it can be with the room that a user has without more rights, too.
func TestRings(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &before); err != nil {
		t.Fatal(err)
	}
	little := unix.Rlimit{Cur: min(before.Cur, 64<<10), Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &little); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_MEMLOCK, &before)
	defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with its user
		if os.Geteuid() == 0 {
			const nobody = 65534
			if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); no != 0 {
				t.Logf("as root: %v", no)
			}
		}
		fd, err := unix.PerfEventOpen(attributes(time.Second, true), unix.Gettid(), 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			t.Logf("perf events: %v", err)
			return
		}
		unix.Close(fd)
		if err := Check(unix.Gettid()); err != nil {
			t.Error(err)
		}
	}()
	<-done
}
