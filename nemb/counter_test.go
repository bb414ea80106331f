package nemb

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

func TestCounterForms(t *testing.T) {
	tests := []struct {
		name    string
		content []byte
		c       counter
		want    Energy
		err     string // "" for none
	}{
		{"text", []byte("1234567\n"), counter{}, 1234567, ""},
		{"empty text", nil, counter{}, 0, `reads ""`},
		{"text of a word", []byte("n/a\n"), counter{}, 0, `reads "n/a\n"`},
		{"word", le(1 << 14), counter{form: asWord, mask: 1<<32 - 1, scale: 1e6 / (1 << 14)}, 1000000, ""},
		{"upper half is not the counter's", le(7<<32 | 1<<14), counter{form: asWord, mask: 1<<32 - 1, scale: 1e6 / (1 << 14)}, 1000000, ""},
		{"at an offset", append(le(3), le(2<<16)...), counter{form: asWord, at: 8, mask: 1<<32 - 1, scale: 1e6 / (1 << 16)}, 2000000, ""},
		{"short word", []byte{1, 2, 3}, counter{form: asWord, mask: 1, scale: 1}, 0, "reads 3 bytes"},
		{"beyond the end", le(1), counter{form: asWord, at: 8, mask: 1, scale: 1}, 0, "reads 0 bytes"},
		{"too large", le(1<<64 - 1), counter{form: asWord, mask: 1<<64 - 1, scale: 1e6}, 0, "reads 8 bytes"},
		{"group", append(le(2), append(le(1<<32), le(3<<32)...)...), counter{form: asGroup, at: 1, mask: 1<<64 - 1, scale: 1e6 / (1 << 32)}, 3000000, ""},
		{"group of fewer", append(le(1), le(1<<32)...), counter{form: asGroup, at: 1, mask: 1<<64 - 1, scale: 1}, 0, "reads"},
		{"cut group", append(le(2), le(1<<32)...), counter{form: asGroup, at: 1, mask: 1<<64 - 1, scale: 1}, 0, "reads"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "counter")
			if err := os.WriteFile(name, test.content, 0o644); err != nil {
				t.Fatal(err)
			}
			fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			test.c.fd = fd
			got, err := test.c.read()
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || got != test.want {
				t.Errorf("%d, %v; want %d, %q", got, err, test.want, test.err)
			}
		})
	}
}

func le(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// A sampler reads text and words side by side, and a word that cannot be read
// is a gap.
func TestSamplerReadsWords(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "word")
	if err := os.WriteFile(name, le(1<<14), 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	words := &fileSensor{name: "msr", domains: []Domain{{ID: "w", Wrap: 1 << 38, Period: time.Millisecond}}, open: []int{fd},
		list: []counter{{fd: fd, form: asWord, mask: 1<<32 - 1, scale: 1e6 / (1 << 14)}}}
	defer words.Close()
	root := zoneTreeAt(t, dir, "7000000")
	s, err := Start([]Sensor{words, openOne(t, root)}, Config{Interval: time.Minute, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	if first := s.Poll(); len(first) != 1 || first[0].Failed {
		t.Fatalf("%+v", first)
	}
	os.WriteFile(name, le(3<<14), 0o644)
	zoneTreeAt(t, dir, "7000500")
	last := s.Stop()
	if len(last) != 1 || last[0].Energy[0] != 2e6 || last[0].Energy[1] != 500 || last[0].Failed {
		t.Errorf("%+v", last)
	}

	if s, err = Start([]Sensor{words}, Config{Interval: time.Minute, Clock: checkpoint.Monotonic}); err != nil {
		t.Fatal(err)
	}
	os.Truncate(name, 3)
	if last = s.Stop(); !last[len(last)-1].Failed || last[len(last)-1].Energy[0] != 0 {
		t.Errorf("a failed reading gave %+v", last)
	}
}
