package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// fixed is a sensor of domains that read 0. What is left after a Split is another.
type fixed struct{ domains []Domain }

func (s *fixed) Domains() []Domain       { return s.domains }
func (s *fixed) Read(dst []Energy) error { clear(dst); return nil }
func (s *fixed) Close() error            { return nil }

func (s *fixed) Split(keep func(Domain) bool) Sensor {
	kept, rest := &fixed{}, &fixed{}
	for _, d := range s.domains {
		if keep(d) {
			kept.domains = append(kept.domains, d)
		} else {
			rest.domains = append(rest.domains, d)
		}
	}
	if s.domains = kept.domains; len(rest.domains) == 0 {
		return nil
	}
	return rest
}

// onlySources replaces the registry until the test ends.
func onlySources(t *testing.T, all ...Source) {
	before := sources
	t.Cleanup(func() { sources = before })
	sources = nil
	for _, s := range all {
		Register(s)
	}
}

// fake is a source of domains such as "package-0/cpu_package", absent without any.
func fake(s Source, domains ...string) Source {
	s.Open = func(Root) ([]Sensor, error) {
		if len(domains) == 0 {
			return nil, fmt.Errorf("%s: %w", s.Name, fs.ErrNotExist)
		}
		sensor := &fixed{}
		for _, d := range domains {
			id, kind, _ := strings.Cut(d, "/")
			sensor.domains = append(sensor.domains, Domain{ID: id, Kind: kind})
		}
		return []Sensor{sensor}, nil
	}
	return s
}

// A source says by itself where it stands among the others and when it is opened:
// nothing else knows its name.
func TestSourcesDecideForThemselves(t *testing.T) {
	tests := []struct {
		name string
		all  []Source
		want []string
		seen string // source=state of each, in the order of their ranks
	}{
		{"the first by rank counts", []Source{
			fake(Source{Name: "a", Rank: 1, Distinct: true}, "package-0/cpu_package"),
			fake(Source{Name: "b", Distinct: true}, "package-0/cpu_package"),
		}, nil, "b=present a=spare"},
		{"one that is not distinct leaves kinds that are measured alone", []Source{
			fake(Source{Name: "a", Distinct: true}, "package-0/cpu_package"),
			fake(Source{Name: "b", Rank: 1}, "package-7/cpu_package"),
		}, nil, "a=present b=spare"},
		{"and counts where it is named", []Source{
			fake(Source{Name: "a", Distinct: true}, "package-0/cpu_package"),
			fake(Source{Name: "b", Rank: 1}, "package-7/cpu_package"),
		}, []string{"a", "b"}, "a=present b=present"},
		{"the GPUs of a maker are those of one source, however it numbers them", []Source{
			fake(Source{Name: "a", Distinct: true}, "gpu-amd-0/gpu", "gpu-amd-1/gpu"),
			fake(Source{Name: "b", Rank: 1}, "gpu-amd-2/gpu", "gpu-intel-0/gpu"),
			fake(Source{Name: "c", Rank: 2}, "gpu-intel-1/gpu", "gpu-amd-7/gpu"),
		}, []string{"a", "b", "c"}, "a=present b=present c=spare"},
		{"a GPU that a user has named may be one that is counted", []Source{
			fake(Source{Name: "a", Distinct: true}, "gpu-amd-0/gpu"),
			fake(Source{Name: "b", Rank: 1, Distinct: true, UserNamed: true}, "gpu0/gpu"),
		}, []string{"a", "b"}, "a=present b=spare"},
		{"and all memory is counted with a part of it", []Source{
			fake(Source{Name: "a", Distinct: true}, "dram-0/dram"),
			fake(Source{Name: "b", Rank: 1, Distinct: true, UserNamed: true}, "dram/dram"),
		}, nil, "a=present b=spare"},
		{"memory with a number is that without one", []Source{
			fake(Source{Name: "a", Distinct: true}, "dram/dram"),
			fake(Source{Name: "b", Rank: 1, Distinct: true}, "dram-0/dram"),
		}, nil, "a=present b=spare"},
		{"whichever source is first", []Source{
			fake(Source{Name: "a", Distinct: true}, "dram-0/dram"),
			fake(Source{Name: "b", Rank: 1, Distinct: true}, "dram/dram"),
		}, nil, "a=present b=spare"},
		{"but a memory of its own is not, nor a GPU where none is counted", []Source{
			fake(Source{Name: "a", Distinct: true}, "dram-0/dram"),
			fake(Source{Name: "b", Rank: 1, Distinct: true, UserNamed: true}, "dram-1/dram", "gpu0/gpu"),
		}, nil, "a=present b=present"},
		{"a distinct one adds to them", []Source{
			fake(Source{Name: "a", Distinct: true}, "package-0/cpu_package"),
			fake(Source{Name: "b", Rank: 1, Distinct: true}, "package-7/cpu_package"),
		}, nil, "a=present b=present"},
		{"a stand-in is spare where the processors are measured", []Source{
			fake(Source{Name: "a", Distinct: true}, "package-0/cpu_package"),
			fake(Source{Name: "b", Rank: 1, Opened: IfUnmeasured}, "machine/psys"),
		}, nil, "a=present b=spare"},
		{"and is read where they are not", []Source{
			fake(Source{Name: "a", Distinct: true}, "gpu0/gpu"),
			fake(Source{Name: "b", Rank: 1, Opened: IfUnmeasured}, "machine/psys"),
		}, nil, "a=present b=present"},
		{"what is read when named is not asked else", []Source{
			fake(Source{Name: "a", Opened: IfNamed}, "package-0/cpu_package"),
			fake(Source{Name: "b", Rank: 1}),
		}, nil, "a=not_asked b=absent"},
		{"a stand-in that is named beside the choice is read", []Source{
			fake(Source{Name: "a", Distinct: true}, "package-0/cpu_package"),
			fake(Source{Name: "b", Rank: 1, Opened: IfUnmeasured}, "machine/psys"),
			fake(Source{Name: "c", Rank: 2, Opened: IfUnmeasured}, "battery/psys"),
			fake(Source{Name: "d", Rank: 3, Opened: IfNamed}, "msr/nested"),
		}, []string{"auto", "b"}, "a=present b=present c=spare d=not_asked"},
		{"what is read when named", []Source{fake(Source{Name: "a", Opened: IfNamed}, "package-0/cpu_package")}, []string{"a"}, "a=present"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			onlySources(t, test.all...)
			found, err := Inspect(Root{Dir: t.TempDir()}, test.want)
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			var seen []string
			for _, s := range found.Seen {
				seen = append(seen, fmt.Sprintf("%s=%s", s.Source.Name, s.State))
			}
			if got := strings.Join(seen, " "); got != test.seen {
				t.Errorf("%s, want %s", got, test.seen)
			}
		})
	}
}

// A source that stands alone is refused beside others and listed last.
func TestSourceThatStandsAlone(t *testing.T) {
	onlySources(t, fake(Source{Name: "a", Alone: true}, "machine/psys"), fake(Source{Name: "b"}, "package-0/cpu_package"))
	if all := Sources(); all[0].Name != "b" || all[1].Name != "a" {
		t.Errorf("%s before %s", all[0].Name, all[1].Name)
	}
	for _, want := range [][]string{{"a", "b"}, {"auto", "a"}} {
		if _, err := Inspect(Root{Dir: t.TempDir()}, want); !errors.Is(err, ErrUnknownSource) || !strings.Contains(err.Error(), "a stands alone") {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, want := range [][]string{{"a"}, {"a", "a"}} {
		found, err := Inspect(Root{Dir: t.TempDir()}, want)
		if err != nil || len(found.Sensors) != 1 {
			t.Errorf("%q: %v, %d sensors", want, err, len(found.Sensors))
		}
		found.Close()
	}
}
