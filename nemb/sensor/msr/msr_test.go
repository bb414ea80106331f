package msr

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/nemb/fixture"
)

// registers writes dev/cpu/N/msr as a file that holds a register at its
// number; others read 0, as a hole.
func registers(t *testing.T, root nemb.Root, cpu int, values map[int64]uint64) {
	t.Helper()
	name := root.Dev("cpu", fmt.Sprint(cpu), "msr")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The bytes of neighbours overlap, which registers' do not: the later one wins.
	for _, at := range slices.Sorted(maps.Keys(values)) {
		if _, err := f.WriteAt(le(values[at]), at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMSR(t *testing.T) {
	const unit14, unit16 = 14 << 8, 16 << 8
	server := map[int64]uint64{0x606: unit14, 0x611: 1 << 14, 0x619: 1 << 16}
	tests := []struct {
		name    string
		cpuinfo string
		sockets []map[int64]uint64
		want    string // id=microjoules
	}{
		{"client", "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 94\n",
			[]map[int64]uint64{{0x606: unit14, 0x611: 3 << 14, 0x639: 1 << 14, 0x641: 1 << 13, 0x64d: 5 << 14}},
			"package-0=3000000 core=1000000 uncore=500000 psys=5000000"},
		{"servers count memory in 15.3 uJ until Ice Lake", "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n",
			[]map[int64]uint64{server, server}, "package-0=1000000 dram-0=1000000 package-1=1000000 dram-1=1000000"},
		{"and in 61 uJ from Sapphire Rapids", "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\n",
			[]map[int64]uint64{{0x606: unit14, 0x611: 1 << 14, 0x619: 1 << 14, 0x64d: 7}}, "package-0=1000000 dram=1000000 psys=7000000"},
		{"AMD", "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\n",
			[]map[int64]uint64{{0xc0010299: unit16, 0xc001029b: 5<<32 | 1<<16}}, "package-0=1000000"},
		{"other vendor", "vendor_id : CentaurHauls\ncpu family : 7\nmodel : 1\n", []map[int64]uint64{server}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := nemb.Root{Dir: t.TempDir()}
			texts := map[string]string{"proc/cpuinfo": "processor : 0\n" + test.cpuinfo}
			for i, values := range test.sockets {
				registers(t, root, i, values)
				texts[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", i)] = fmt.Sprintln(i)
			}
			fixture.Files(t, root, texts)
			found, err := nemb.Discover(root, []string{"msr"})
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			var got []string
			for _, s := range found.Sensors {
				dst := make([]nemb.Energy, len(s.Domains()))
				if err := s.Read(dst); err != nil {
					t.Error(err)
				}
				for i, d := range s.Domains() {
					got = append(got, fmt.Sprintf("%s=%d", d.ID, dst[i]))
					if d.Method != nemb.Measured || d.Wrap == 0 {
						t.Errorf("%+v", d)
					}
				}
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("\n got %s\nwant %s", s, test.want)
			}
			// Never unless asked for.
			auto, err := nemb.Discover(root, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range auto.Seen {
				if s.Source.Name == "msr" && s.State != nemb.Unasked {
					t.Errorf("msr is %s", s.State)
				}
			}
			auto.Close()
		})
	}
	root := nemb.Root{Dir: t.TempDir()}
	fixture.Files(t, root, map[string]string{"proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 94\n"})
	found, err := nemb.Discover(root, []string{"msr"})
	if err != nil || len(found.Absent) != 1 || !strings.Contains(found.Seen[0].Errors[0].Error(), "modprobe msr") {
		t.Errorf("%+v, %v", found, err)
	}
}

// le is a word as a register's file has it.
func le(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
