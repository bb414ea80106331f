package counter

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCounterForms(t *testing.T) {
	tests := []struct {
		name    string
		content []byte
		c       Counter
		want    Energy
		err     string // "" for none
	}{
		{"text", []byte("1234567\n"), Counter{}, 1234567, ""},
		{"empty text", nil, Counter{}, 0, `reads ""`},
		{"text of a word", []byte("n/a\n"), Counter{}, 0, `reads "n/a\n"`},
		{"word", le(1 << 14), Counter{Form: Word, Mask: 1<<32 - 1, Scale: 1e6 / (1 << 14)}, 1000000, ""},
		{"upper half is not the counter's", le(7<<32 | 1<<14), Counter{Form: Word, Mask: 1<<32 - 1, Scale: 1e6 / (1 << 14)}, 1000000, ""},
		{"at an offset", append(le(3), le(2<<16)...), Counter{Form: Word, At: 8, Mask: 1<<32 - 1, Scale: 1e6 / (1 << 16)}, 2000000, ""},
		{"short word", []byte{1, 2, 3}, Counter{Form: Word, Mask: 1, Scale: 1}, 0, "reads 3 bytes"},
		{"beyond the end", le(1), Counter{Form: Word, At: 8, Mask: 1, Scale: 1}, 0, "reads 0 bytes"},
		{"too large", le(1<<64 - 1), Counter{Form: Word, Mask: 1<<64 - 1, Scale: 1e6}, 0, "reads 8 bytes"},
		{"group", append(le(2), append(le(1<<32), le(3<<32)...)...), Counter{Form: Group, At: 1, Mask: 1<<64 - 1, Scale: 1e6 / (1 << 32)}, 3000000, ""},
		{"group of fewer", append(le(1), le(1<<32)...), Counter{Form: Group, At: 1, Mask: 1<<64 - 1, Scale: 1}, 0, "reads"},
		{"cut group", append(le(2), le(1<<32)...), Counter{Form: Group, At: 1, Mask: 1<<64 - 1, Scale: 1}, 0, "reads"},
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
			test.c.FD = int32(fd)
			got, err := test.c.Read()
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || got != test.want {
				t.Errorf("%d, %v; want %d, %q", got, err, test.want, test.err)
			}
		})
	}
}

func le(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
