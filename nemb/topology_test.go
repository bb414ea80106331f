package nemb

import (
	"strings"
	"testing"

	"cg/nemb/processor"
)

// domainsOf reads "package-0/cpu_package core-0<package-0/nested"; a "~" marks
// an estimate.
func domainsOf(text string) (all []Domain) {
	for word := range strings.FieldsSeq(text) {
		id, kind, _ := strings.Cut(word, "/")
		d := Domain{Kind: kind, Method: Measured}
		if id, estimated := strings.CutPrefix(id, "~"); estimated {
			d.ID, d.Method = id, Estimated
		} else {
			d.ID, d.Parent, _ = strings.Cut(id, "<")
		}
		all = append(all, d)
	}
	return all
}

func TestTotal(t *testing.T) {
	for _, test := range []struct{ name, domains, want string }{
		{"a package and its parts", "package-0/cpu_package core-0<package-0/nested uncore-0<package-0/nested", "package-0"},
		{"memory and GPUs beside", "package-0/cpu_package dram-0/dram gpu0/gpu", "package-0 dram-0 gpu0"},
		{"psys includes the packages", "psys/psys package-0/cpu_package dram-0/dram", "package-0 dram-0"},
		{"psys is the only root", "psys/psys", "psys"},
		{"psys beside memory alone", "dram-0/dram psys/psys", "psys"},
		{"psys without a package includes the GPU", "gpu0/gpu psys/psys", "psys"},
		{"only one psys", "psys/psys psys-1/psys", "psys"},
		{"a GPU alone", "gpu0/gpu", "gpu0"},
		{"a GPU beside the estimate", "gpu0/gpu ~machine/psys", "gpu0 machine"},
		{"memory is in the estimate", "dram-0/dram ~machine/psys", "machine"},
		{"the estimate", "~machine/psys", "machine"},
		{"what it measures is not known", "accelerator/independent", ""},
		{"nothing", "", ""},
	} {
		domains := domainsOf(test.domains)
		var in []string
		for i, is := range total(domains) {
			if is {
				in = append(in, domains[i].ID)
			}
		}
		if got := strings.Join(in, " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestTopology(t *testing.T) {
	domains := domainsOf("package-0/cpu_package core-0<package-0/nested dram-0/dram psys/psys")
	for i, in := range total(domains) {
		domains[i].InTotal = in
	}
	places := Topology(domains)
	if p := places["package-0"]; !p.TopLevel || p.Kind != "cpu_package" || strings.Join(p.Includes, " ") != "core-0" {
		t.Errorf("%+v", p)
	}
	if p := places["psys"]; p.TopLevel || p.Kind != "psys" || p.Includes == nil {
		t.Errorf("%+v", p)
	}
	if p := places["dram-0"]; !p.TopLevel || len(p.Includes) != 0 {
		t.Errorf("%+v", p)
	}
	for n, want := range []string{"none", "scalar_only", "full"} {
		if got := Support(domains[:n]); got != want {
			t.Errorf("%d domains: %s, want %s", n, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"package-0", "package-0", true}, {"package-0", "package-0-die-1", true}, {"core", "core-0-die-1", true}, {"core-0", "core-0-die-1", true},
		{"core", "core-1", false}, {"package-0", "package-1-die-0", false}, {"package-1", "package-1-1", false}, {"core", "uncore", false}, {"dram", "dram-0-die-x", true},
		{"gpu1", "gpu1-0", false},
	} {
		if Covers(test.a, test.b) != test.want || Covers(test.b, test.a) != test.want {
			t.Errorf("%s and %s: not %v", test.a, test.b, test.want)
		}
	}
}

// No share of a total is counted twice, whatever the domains are.
func FuzzTotal(f *testing.F) {
	f.Add("package-0/cpu_package core-0<package-0/nested psys/psys gpu0/gpu ~machine/psys")
	f.Fuzz(func(t *testing.T, text string) {
		domains := domainsOf(text)
		in := total(domains)
		whole, parts := 0, 0
		for i, d := range domains {
			switch {
			case !in[i]:
			case d.Parent != "":
				t.Errorf("%s is in %s and counts beside it", d.ID, d.Parent)
			case d.Kind == "psys" && d.Method != Estimated:
				whole++
			default:
				parts++
			}
		}
		if whole > 1 || whole > 0 && parts > 0 {
			t.Errorf("%d domains of the whole machine beside %d parts", whole, parts)
		}
	})
}

func TestImplausible(t *testing.T) {
	gnr := processor.CPU{March: "Intel Granite Rapids", TDP: 500, Sockets: 2}
	for _, test := range []struct {
		kind  string
		cpu   processor.CPU
		watts float64
		bad   bool
	}{
		{"dram", gnr, 200.3, true}, // icl-utk-edu/papi#635
		{"dram", gnr, 6, false},
		{"cpu_package", gnr, 243, false},
		{"cpu_package", processor.CPU{March: "Intel Tiger Lake U", TDP: 28}, 115, false}, // its PL2
		{"cpu_package", processor.CPU{March: "Intel Tiger Lake U", TDP: 28}, 1000, true},
		{"cpu_package", processor.CPU{}, 600, false},
		{"gpu", processor.CPU{}, 700, false},
	} {
		d := []Domain{{ID: test.kind, Most: implausiblyMuch(test.kind, test.cpu)}}
		notes := Implausible(d, []Energy{Energy(test.watts * 10e6)}, 10e9)
		if (len(notes) == 1) != test.bad {
			t.Errorf("%s of %s at %g W: %+v", test.kind, test.cpu, test.watts, notes)
		}
	}
}
