package powercap

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/fixture"
	"cg/nemb/processor"
	"cg/nemb/simulate"
)

func TestPowercapDiscovery(t *testing.T) {
	tests := []struct {
		name  string
		base  string
		zones []string
		want  string // id<parent/kind+ in the order of Domains; + is InTotal
	}{
		{"client with psys", "class/powercap",
			[]string{"intel-rapl:0 package-0", "intel-rapl:0:0 core", "intel-rapl:0:1 uncore", "intel-rapl:1 psys"},
			"package-0/cpu_package+ core<package-0/nested uncore<package-0/nested psys/psys"},
		{"psys comes first", "class/powercap",
			[]string{"intel-rapl:0 psys", "intel-rapl:1 package-0", "intel-rapl:1:0 core"},
			"psys/psys package-0/cpu_package+ core<package-0/nested"},
		{"psys alone", "class/powercap", []string{"intel-rapl:0 psys"}, "psys/psys+"},
		{"two sockets with dram", "class/powercap",
			[]string{"intel-rapl:0 package-0", "intel-rapl:0:0 dram", "intel-rapl:1 package-1", "intel-rapl:1:0 dram"},
			"package-0/cpu_package+ dram-0/dram+ package-1/cpu_package+ dram-1/dram+"},
		{"zones numbered unlike packages", "class/powercap",
			[]string{"intel-rapl:0 package-1", "intel-rapl:0:0 dram", "intel-rapl:1 package-0", "intel-rapl:1:0 dram"},
			"package-1/cpu_package+ dram-1/dram+ package-0/cpu_package+ dram-0/dram+"},
		{"dram as zones", "class/powercap",
			[]string{"intel-rapl:0 package-0", "intel-rapl:1 dram", "intel-rapl:2 dram"},
			"package-0/cpu_package+ dram/dram+ dram-1/dram+"},
		{"EPYC", "class/powercap", []string{"intel-rapl:0 package-0"}, "package-0/cpu_package+"},
		{"more than ten zones", "class/powercap",
			[]string{"intel-rapl:10 package-10", "intel-rapl:9 package-9"}, "package-9/cpu_package+ package-10/cpu_package+"},
		{"dies", "class/powercap",
			[]string{"intel-rapl:0 package-0-die-0", "intel-rapl:0:0 core", "intel-rapl:1 package-0-die-1", "intel-rapl:1:0 core"},
			"package-0-die-0/cpu_package+ core-0-die-0<package-0-die-0/nested package-0-die-1/cpu_package+ core-0-die-1<package-0-die-1/nested"},
		{"mirrored dies", "class/powercap",
			[]string{"intel-rapl:0 package-0-die-0=4711000", "intel-rapl:1 package-0-die-1=4711000"},
			"package-0-die-0/cpu_package+"},
		{"mirrored dies with cores", "class/powercap",
			[]string{"intel-rapl:0 package-0-die-0=4711000", "intel-rapl:0:0 core", "intel-rapl:1 package-0-die-1=4711000", "intel-rapl:1:0 core"},
			"package-0-die-0/cpu_package+ core-0-die-0<package-0-die-0/nested"},
		{"psys of a second socket", "class/powercap",
			[]string{"intel-rapl:0 psys", "intel-rapl:1 package-0", "intel-rapl:2 package-1", "intel-rapl:3 psys-1"},
			"psys/psys package-0/cpu_package+ package-1/cpu_package+ psys-1/psys"},
		{"psys twice and nothing else", "class/powercap", []string{"intel-rapl:0 psys", "intel-rapl:1 psys-1"}, "psys/psys+ psys-1/psys"},
		{"numbered dram zones", "class/powercap",
			[]string{"intel-rapl:0 package-0", "intel-rapl:1 dram-0", "intel-rapl:2 package-1", "intel-rapl:3 dram-1"},
			"package-0/cpu_package+ dram-0/dram+ package-1/cpu_package+ dram-1/dram+"},
		{"mmio knows more", "class/powercap",
			[]string{"intel-rapl:0 package-0", "intel-rapl-mmio:0 package-0", "intel-rapl-mmio:0:0 dram"}, "package-0/cpu_package+ dram/dram+"},
		{"mmio repeats", "class/powercap",
			[]string{"intel-rapl:0 package-0", "intel-rapl-mmio:0 package-0"}, "package-0/cpu_package+"},
		{"mmio alone", "class/powercap", []string{"intel-rapl-mmio:0 package-0"}, "package-0/cpu_package+"},
		{"devices only", "devices/virtual/powercap/intel-rapl",
			[]string{"intel-rapl:0 package-0", "intel-rapl:0/intel-rapl:0:0 core"},
			"package-0/cpu_package+ core<package-0/nested"},
		{"no counter in a zone", "class/powercap",
			[]string{"intel-rapl:0 package-0", "dtpm:0 x=-"}, "package-0/cpu_package+"},
		{"unknown zone", "class/powercap",
			[]string{"intel-rapl:0 package-0", "intel-rapl:1 accelerator"}, "package-0/cpu_package+ accelerator/independent"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := fixture.Zones(t, test.base, test.zones...)
			found, err := nemb.Discover(root, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			if len(found.Sensors) != 1 {
				t.Fatalf("%d sensors, want 1", len(found.Sensors))
			}
			var got []string
			for _, d := range found.Sensors[0].Domains() {
				s := d.ID
				if d.Parent != "" {
					s += "<" + d.Parent
				}
				if s += "/" + d.Kind; d.InTotal {
					s += "+"
				}
				got = append(got, s)
				if d.Method != nemb.Measured || d.Wrap != 262143328851 || d.Lo != 1 || d.Hi != 1 {
					t.Errorf("%+v", d)
				}
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("\n got %s\nwant %s", s, test.want)
			}
			dst := make([]nemb.Energy, len(got))
			if err := found.Sensors[0].Read(dst); err != nil || slices.Contains(dst, 0) {
				t.Errorf("read %v, %v", dst, err)
			}
		})
	}
}

func TestDiscover(t *testing.T) {
	empty := nemb.Root{Dir: t.TempDir()}
	found, err := nemb.Discover(empty, nil)
	if err != nil || !slices.Contains(found.Absent, "powercap") || len(found.Denied) > 0 {
		t.Errorf("no sensors: %+v, %v", found, err)
	}
	if len(found.Sensors) != 1 || found.Sensors[0].Domains()[0].Method != nemb.Estimated {
		t.Errorf("no sensors: want the estimator, got %+v", found.Sensors)
	}
	found.Close()

	if _, err := nemb.Discover(empty, []string{"rapl"}); err == nil || !strings.Contains(err.Error(), "powercap, estimate") {
		t.Errorf("unknown name: %v", err)
	}
	found, err = nemb.Discover(empty, []string{"powercap"})
	if err != nil || len(found.Sensors) != 0 || !slices.Equal(found.Absent, []string{"powercap"}) {
		t.Errorf("powercap alone: %+v, %v", found, err)
	}

	root := fixture.Zones(t, "class/powercap", "intel-rapl:0 package-0", "intel-rapl:0:0 core")
	found, err = nemb.Discover(root, []string{"powercap", "powercap"})
	if err != nil || len(found.Sensors) != 1 {
		t.Errorf("named twice: %+v, %v", found, err)
	}
	found.Close()
	// A model of the machine beside its counter would count it twice.
	if _, err := nemb.Discover(root, []string{"estimate", "powercap"}); !errors.Is(err, nemb.ErrUnknownSource) {
		t.Errorf("estimate beside powercap: %v", err)
	}
	// What cg chooses by itself, with one that it chooses anyway, is that one, once.
	found, err = nemb.Discover(root, []string{"auto", "powercap"})
	if err != nil || len(found.Sensors) != 1 {
		t.Errorf("auto with powercap: %+v, %v", found, err)
	}
	found.Close()

	for name, text := range map[string]string{"empty": "", "garbage": "x\n", "negative": "-5\n"} {
		os.WriteFile(root.Sys("class/powercap/intel-rapl:0:0/energy_uj"), []byte(text), 0o644)
		found, err = nemb.Discover(root, nil)
		if err == nil || len(found.Broken) != 1 || len(found.Sensors) != 0 || !strings.Contains(err.Error(), "intel-rapl:0:0/energy_uj") {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestDenied(t *testing.T) {
	tree, root := fixture.Mount(t, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: simulate.Counter{Power: simulate.Constant(20)},
			Zones: []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "core", Counter: simulate.Counter{Power: simulate.Constant(7)}}}},
		{Dir: "intel-rapl:1", Name: "psys", Counter: simulate.Counter{Power: simulate.Constant(30)}},
	}})
	tree.Fault("intel-rapl:0:0", simulate.Fault{Open: syscall.EACCES})
	found, err := nemb.Discover(root, nil)
	if err != nil || len(found.Denied) != 1 || len(found.Sensors) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if err := found.Denied[0]; !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "run cg as root, or: sudo cg init-sensors") {
		t.Error(err)
	}
	if err := found.Close(); err != nil {
		t.Error(err)
	}
	tree.Fault("intel-rapl:0", simulate.Fault{Open: syscall.EACCES})
	tree.Fault("intel-rapl:1", simulate.Fault{Open: syscall.EACCES})
	found, err = nemb.Discover(root, nil)
	if err != nil || len(found.Denied) != 1 || len(found.Sensors) != 1 || found.Sensors[0].Domains()[0].Method != nemb.Estimated {
		t.Errorf("all denied: %+v, %v", found, err)
	}
	var d *nemb.Denied
	if !errors.As(errors.Join(found.Denied...), &d) || !slices.Equal(d.Domains, []string{"package-0", "core", "psys"}) || !strings.Contains(d.Error(), "(package-0 and 2 more)") {
		t.Errorf("%+v", d)
	}
	found.Close()

	// A zone whose counter fails is broken.
	tree.Fault("intel-rapl:0", simulate.Fault{Read: syscall.EIO})
	if found, err = nemb.Discover(root, nil); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("EIO: %+v, %v", found, err)
	}
}

// Where no zone is one that cg knows, the total is not what is left of the
// machine: the estimate stands in, and the zones are listed beside it.
func TestZonesThatNobodyKnows(t *testing.T) {
	for _, tt := range []struct {
		name   string
		zones  []string
		total  string
		beside string // the zones that are in no total
		doubt  bool
	}{
		{"alone", []string{"intel-rapl:0 accelerator"}, "machine", "accelerator", true},
		{"with a part", []string{"intel-rapl:0 accelerator", "intel-rapl:0:0 core"}, "machine", "accelerator core-accelerator", true},
		{"memory", []string{"intel-rapl:0 dram"}, "machine", "dram", false},
		{"beside a package", []string{"intel-rapl:0 package-0", "intel-rapl:1 accelerator"}, "package-0", "accelerator", false},
	} {
		root := fixture.Zones(t, "class/powercap", tt.zones...)
		fixture.Files(t, root, map[string]string{"proc/cpuinfo": "processor\t: 0\n"})
		found, err := nemb.Discover(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		var in, out []string
		for _, d := range found.Domains() {
			if d.InTotal {
				in = append(in, d.ID)
			} else {
				out = append(out, d.ID)
			}
		}
		if strings.Join(in, " ") != tt.total || strings.Join(out, " ") != tt.beside {
			t.Errorf("%s: total %v, beside %v", tt.name, in, out)
		}
		var said []string
		for _, n := range found.Notes {
			if strings.Contains(n.Text, `"accelerator"`) && n.Doubt == tt.doubt {
				said = append(said, n.Text)
			}
		}
		if (len(said) == 1) != strings.Contains(tt.beside, "accelerator") || found.MeasuresProcessors() == false {
			t.Errorf("%s: %+v", tt.name, found.Notes)
		}
		found.Close()
	}
}

// The step of a counter is its unit: the range by 2^32, rounded up.
func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		most string // max_energy_range_uj
		want nemb.Energy
	}{
		{"262143328850", 62},
		{"65532610987", 16},
		{"4294967295999999", 1e6},   // whole joules
		{"9223372036854775807", 62}, // 64 bits tell no unit
		{"odd", 62},
	} {
		root := fixture.Zones(t, "class/powercap", "intel-rapl:0 package-0")
		fixture.Files(t, root, map[string]string{"sys/class/powercap/intel-rapl:0/max_energy_range_uj": tt.most + "\n"})
		found, err := nemb.Discover(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Domains()[0].Step; got != tt.want {
			t.Errorf("%s: %d uJ, want %d", tt.most, got, tt.want)
		}
		found.Close()
	}
	d := nemb.Domain{InTotal: true, Method: nemb.Measured}
	for _, tt := range []struct {
		d    nemb.Domain
		e    nemb.Energy
		want bool
	}{{d, 1, true}, {d, 0, false}, {nemb.Domain{Method: nemb.Measured}, 0, true}, {nemb.Domain{InTotal: true, Method: nemb.Estimated}, 0, true}} {
		if tt.d.Resolves(tt.e) != tt.want {
			t.Errorf("%+v resolves %d: %v", tt.d, tt.e, !tt.want)
		}
	}
}

// Looking for sensors gives up those that hang, and measures with the others.
func TestDiscoverHangs(t *testing.T) {
	fixture.Impatient(t, 2*time.Second)
	reading := func(until <-chan struct{}) simulate.Fault { return simulate.Fault{Hold: until} }
	open := func(until <-chan struct{}) simulate.Fault { return simulate.Fault{HoldOpen: until} }
	for _, test := range []struct {
		name    string
		fault   func(until <-chan struct{}) simulate.Fault
		zones   []string
		domains string
		state   nemb.State
	}{
		{"a reading", reading, []string{"intel-rapl:0"}, "package-1", nemb.Present},
		{"an open", open, []string{"intel-rapl:1"}, "package-0", nemb.Present},
		{"all", reading, []string{"intel-rapl:0", "intel-rapl:1"}, "machine", nemb.Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, root := fixture.Mount(t, fixture.TwoPackages())
			end := make(chan struct{})
			for _, zone := range test.zones {
				tree.Fault(zone, test.fault(end))
			}
			found, err := nemb.Discover(root, nil)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, d := range found.Domains() {
				ids = append(ids, d.ID)
			}
			if got := strings.Join(ids, " "); got != test.domains || len(found.Hung) != len(test.zones) {
				t.Errorf("%s, %v", got, found.Hung)
			}
			for i, err := range found.Hung {
				want := test.zones[i] + "/energy_uj: no answer for 2s: it hangs"
				if !strings.Contains(err.Error(), want) || errors.Is(err, fs.ErrPermission) {
					t.Error(err)
				}
			}
			i := slices.IndexFunc(found.Seen, func(s nemb.Seen) bool { return s.Source.Name == "powercap" })
			if found.Seen[i].State != test.state {
				t.Errorf("%+v", found.Seen[i])
			}
			if err := found.Close(); err != nil {
				t.Error(err)
			}
			close(end)
		})
	}
}

func TestUnitDoubt(t *testing.T) {
	skylake, sapphire := processor.CPU{Vendor: processor.Intel, Family: 6, Model: 0x55, March: "Intel Skylake SP"}, processor.CPU{Vendor: processor.Intel, Family: 6, Model: 0x8f, March: "Intel Sapphire Rapids"}
	for _, test := range []struct {
		kind string
		wrap nemb.Energy
		cpu  processor.CPU
		want string
	}{
		{"dram", 65712999614, skylake, ""},
		{"dram", 262143328851, skylake, "4.0 times too high"},
		{"dram", 262143328851, sapphire, ""},
		{"dram", 65712999614, sapphire, "4.0 times too low"},
		{"dram", 262143328851, processor.CPU{Vendor: processor.Intel, Family: 6, Model: 0x9a}, ""},
		{"cpu_package", 262143328851, sapphire, ""},
		{"cpu_package", 1 << 53, sapphire, "max_energy_range_uj means a unit of"},
		{"psys", 4294967295000001, sapphire, ""},
		{"cpu_package", 0, sapphire, ""},
	} {
		got := unitDoubt(nemb.Domain{ID: "x", Kind: test.kind, Wrap: test.wrap}, test.cpu)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s wrapping at %d: %q, want %q", test.kind, test.wrap, got, test.want)
		}
	}
}
