package repeated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"cg/report"
	"cg/report/schema"
)

// Verify reads repeated runs from a file and lists what differs, each with its field: from
// the schema, among the parts of a run, and between the runs and what they come to. version is this cg's:
// another one may have computed intervals otherwise, and then only their place is checked.
// The error is that of a file that cannot be read.
func Verify(f io.ReadSeeker, version string) ([]string, error) {
	r, err := Read(f)
	if err != nil {
		return nil, err
	}
	faults := r.Check(version)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	rules, err := compiled()
	if err != nil {
		return nil, err
	}
	var invalid *schema.InvalidError
	if err := rules.Read(jsontext.NewDecoder(f)); errors.As(err, &invalid) {
		faults = append([]string{err.Error()}, faults...)
	} else if err != nil {
		return nil, err
	}
	return faults, nil
}

var compiled = sync.OnceValues(func() (*schema.Schema, error) {
	b, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}
	return schema.Compile(b)
})

// Schema is the JSON Schema of repeated runs: docs/repeated.schema.json.
func Schema() map[string]any {
	return report.SchemaOf(reflect.TypeFor[Result](), "Repeated runs measured by cg")
}

// Check computes anew what the runs come to, and lists what differs. See Verify.
func (r *Result) Check(version string) []string {
	var faults []string
	for i, c := range r.All() {
		for _, fault := range c.checkFootprint() {
			faults = append(faults, r.field(i)+fault)
		}
		for k, m := range c.Measurements {
			for _, fault := range m.check(r.Meta) {
				faults = append(faults, fmt.Sprintf("%smeasurements[%d].%s", r.field(i), k, fault))
			}
		}
	}
	again, err := r.again(version == r.Meta.CgVersion)
	if err != nil {
		return append(faults, err.Error())
	}
	d := difference{intervals: version == r.Meta.CgVersion}
	is, err := r.tree()
	if err != nil {
		return append(faults, err.Error())
	}
	want, err := again.tree()
	if err != nil {
		return append(faults, err.Error())
	}
	d.compare("", is, want)
	return append(faults, d.found...)
}

// field is the name of command i in the file, with a dot, "" where it is the only one.
func (r *Result) field(i int) string {
	if len(r.Commands) == 0 {
		return ""
	}
	return fmt.Sprintf("commands[%d].", i)
}

// check holds the parts of a run against each other.
func (m Measurement) check(meta report.Meta) (faults []string) {
	var top, self report.Joules
	for id, e := range m.Domains {
		if meta.DomainTopology[id].TopLevel {
			top += e
		}
	}
	for i, cost := range m.Functions {
		if cost.SelfEnergyJ == nil {
			continue
		}
		if self += *cost.SelfEnergyJ; cost.InclusiveEnergyJ != nil && *cost.InclusiveEnergyJ < *cost.SelfEnergyJ {
			faults = append(faults, fmt.Sprintf("functions[%d].inclusive_energy_j: %g J, less than the function "+
				"without its callees", i, cost.InclusiveEnergyJ.Float()))
		}
	}
	for i, cost := range m.Functions {
		faults = append(faults, cost.checkPlaces(fmt.Sprintf("functions[%d].", i))...)
	}
	whole, program := m.EnergyJ, m.ProgramEnergyJ
	if whole != nil && *whole != top {
		faults = append(faults, fmt.Sprintf("energy_j: %g J, but its domains at the top level add up to %g J",
			whole.Float(), top.Float()))
	}
	if program != nil && (whole == nil || *program > *whole) {
		faults = append(faults, fmt.Sprintf("program_energy_j: %g J, which is more than the machine's",
			program.Float()))
	}
	if program != nil && self > *program {
		faults = append(faults, fmt.Sprintf("functions: they used %g J, which is more than the program's",
			self.Float()))
	}
	return faults
}

// again is what the measurements of r come to. Where this cg did not compute the intervals, budgets
// are held against those of r.
func (r *Result) again(intervals bool) (*Result, error) {
	out := &Result{Meta: r.Meta, Warnings: r.Warnings, Baseline: r.Baseline, MachineState: r.MachineState}
	for _, c := range r.All() {
		b, err := report.Encode(c)
		if err != nil {
			return nil, err
		}
		var own Command
		if err := report.Decode(strings.NewReader(string(b)), &own); err != nil {
			return nil, err
		}
		own.AgainstFirst, own.BudgetExceeded = nil, nil
		if own.Summarize(c.Runs.WarmupIncludedInStats); !intervals {
			own.BudgetExceeded = own.exceeds(c.ProgramEnergyJ)
		}
		out.Commands = append(out.Commands, own)
	}
	out.Compare()
	return out, nil
}

// tree is the JSON of a result, decoded.
func (r *Result) tree() (tree any, err error) {
	b, err := r.JSON()
	if err != nil {
		return nil, err
	}
	return tree, json.Unmarshal(b, &tree)
}

// difference collects where two trees of JSON differ.
type difference struct {
	found     []string
	intervals bool // they were computed as this cg does
}

// ends are fields that are ends of intervals.
var ends = []string{"ci95_lower", "ci95_upper", "change_lo", "change_hi", "p_costs_more", "growth"}

func (d *difference) compare(field string, is, want any) {
	fault := func() {
		d.found = append(d.found, fmt.Sprintf("%s: %s, but the runs make it %s", field, short(is), short(want)))
	}
	switch want := want.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			fault()
			return
		}
		d.interval(field, is)
		names := maps.Clone(want)
		maps.Copy(names, is)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !d.intervals && slices.Contains(ends, name) {
				continue
			}
			d.compare(strings.TrimPrefix(field+"."+name, "."), is[name], want[name])
		}
	case []any:
		is, ok := is.([]any)
		if !ok || len(is) != len(want) {
			fault()
			return
		}
		for i := range want {
			d.compare(fmt.Sprintf("%s[%d]", field, i), is[i], want[i])
		}
	case float64:
		is, ok := is.(float64)
		slack := 1e-9
		if strings.HasPrefix(field, "growth") { // what a search comes to differs between processors
			slack = 1e-3
		}
		if !ok || math.Abs(is-want) > slack*max(math.Abs(is), math.Abs(want))+1e-12 {
			fault()
		}
	default:
		if is != want {
			fault()
		}
	}
}

// interval wants a mean inside its interval, whichever cg computed it.
func (d *difference) interval(field string, of map[string]any) {
	name := "mean"
	if _, is := of["ratio"]; is {
		name = "ratio"
	}
	mean, known := of[name].(float64)
	lo, bounded := of["ci95_lower"].(float64)
	hi, above := of["ci95_upper"].(float64)
	if known && (bounded && lo > mean || above && hi < mean) {
		d.found = append(d.found, fmt.Sprintf("%s.%s: %g is outside of its interval", field, name, mean))
	}
}

// short is a value as a message shows it.
func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 60 {
		return string(b[:57]) + "..."
	}
	return string(b)
}
