package report

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cg/nemb"
	"cg/pattern"
)

// oldSchema is the version before SchemaVersion, which is read as well. There a GPU is
// gpu-0, and what lies in the only package of a machine has its number: core-0, dram-0.
// The energy of a task of cg measure is the program's, and not the machine's.
const oldSchema = "1"

// Reads tells whether this cg reads documents of a version of the schema.
func Reads(version string) bool { return slices.Contains(SchemaVersions(), version) }

// SchemaVersions are the versions of documents that this cg reads, the newest first.
func SchemaVersions() []string { return []string{SchemaVersion, oldSchema} }

// IsOld tells whether a version of the schema is the one before this cg's.
func IsOld(version string) bool { return version == oldSchema }

// Unreadable is the error of a document of another version of the schema, with what to
// do about it.
func Unreadable(cg, version, advice string) error {
	return fmt.Errorf("saved by cg %s in schema version %s, and this cg reads %s and %s: %s", cg, version, oldSchema,
		SchemaVersion, advice)
}

// Renew makes a document that was read one of this version. It does nothing to one that
// is.
func Renew(meta *Meta, document any) {
	if !IsOld(meta.SchemaVersion) {
		return
	}
	meta.SchemaVersion = SchemaVersion
	whole := reflect.ValueOf(document).Elem()
	ids := map[string]bool{}
	eachDomain(whole, "", func(id string) string {
		ids[id] = true
		return id
	})
	names := NewNames(ids)
	eachDomain(whole, "", func(id string) string { return cmp.Or(names[id], id) })
}

// Renew is Renew for a run. What its digest tells of the file is kept, for then it is
// that of another text.
func (r *Run) Renew() {
	if !IsOld(r.Meta.SchemaVersion) {
		return
	}
	if r.SHA256 != "" {
		digest, err := r.digest()
		r.asWritten = &digest
		if err != nil {
			*r.asWritten = err.Error()
		}
	}
	Renew(&r.Meta, r)
	if r.part != PartSession && r.Meta.Tool != sessionTool {
		r.renewTasks()
	}
}

// renewTasks gives tasks the machine's energy, where they had the program's. Of the
// machine's within the program nothing is told.
func (r *Run) renewTasks() {
	for i := range r.Tasks {
		t := &r.Tasks[i]
		share := &ProgramShare{t.EnergyJ, t.LoJ, t.HiJ}
		if t.Depth == 0 {
			t.wholeOf(r.Totals)
		} else {
			t.EnergyJ, t.AvgPowerW, t.Provenance = nil, nil, Provenance{Kind: nemb.Unavailable, Method: "sampled"}
			t.Domains, t.DomainsPowerW = map[string]Joules{}, map[string]float64{}
		}
		t.ProgramShare = share
	}
}

var (
	oldGPU  = pattern.Later(`^gpu-([0-9]+)$`)
	oldPart = pattern.Later(`^(core|uncore|dram)-([0-9]+)$`)
)

// NewNames gives the domains of a machine that have another name since the schema before
// theirs, by the old ones. All of ids are of one machine. Of domains that have their
// names of now it gives none.
func NewNames(ids map[string]bool) map[string]string {
	packages, number := 0, ""
	for id := range ids {
		if rest, is := strings.CutPrefix(id, "package-"); is {
			packages, number = packages+1, rest
		}
	}
	names := map[string]string{}
	for id := range ids {
		m := oldPart().FindStringSubmatch(id)
		switch gpu := oldGPU().FindStringSubmatch(id); {
		case gpu != nil:
			names[id] = "gpu" + gpu[1]
		case m != nil && (packages == 1 && m[2] == number || packages == 0 && m[2] == "0"):
			names[id] = m[1]
		}
	}
	return names
}

// eachDomain gives every ID of a domain in a value the name that rename returns: keys of
// maps by domain, and texts, in the fields that hold them.
func eachDomain(v reflect.Value, field string, rename func(id string) string) {
	isDomain := strings.HasPrefix(field, "domain") && field != "domain_support"
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachDomain(v.Elem(), field, rename)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			eachDomain(v.Field(i), name, rename)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachDomain(v.Index(i), field, rename)
		}
	case reflect.Map:
		if !isDomain || v.IsNil() {
			return
		}
		renamed := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			e := reflect.New(value.Type()).Elem()
			e.Set(value)
			eachDomain(e, "", rename)
			renamed.SetMapIndex(reflect.ValueOf(rename(key.String())), e)
		}
		v.Set(renamed)
	case reflect.String:
		if isDomain || field == "includes" {
			v.SetString(rename(v.String()))
		}
	}
}
