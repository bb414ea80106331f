package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"cg/report"
	"cg/report/schema"
	"cg/shown"
)

// digest is what SHA256 is to be.
func (d *Run) digest() (string, error) {
	plain := *d
	plain.SHA256 = ""
	b, err := compact(plain)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// compact is JSON without spaces.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// JSON encodes a document, with its digest: each element of a list on a line.
func (d *Run) JSON() ([]byte, error) {
	digest, err := d.digest()
	if err != nil {
		return nil, err
	}
	d.SHA256 = digest
	var out bytes.Buffer
	v := reflect.ValueOf(d).Elem()
	before := "{"
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || options == "omitempty" && v.Field(i).IsZero() {
			continue
		}
		fmt.Fprintf(&out, "%s\n  %q: ", before, name)
		before = ","
		f := v.Field(i)
		if f.Kind() != reflect.Slice || f.Len() == 0 {
			b, err := compact(f.Interface())
			if err != nil {
				return nil, err
			}
			out.Write(b)
			continue
		}
		for k := range f.Len() {
			b, err := compact(f.Index(k).Interface())
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "%s\n    %s", [2]string{",", "["}[min(1, max(0, 1-k))], b)
		}
		out.WriteString("\n  ]")
	}
	out.WriteString("\n}\n")
	return shown.JSON(out.Bytes()), nil
}

// IsSaved reports whether a text is a document as cg merge saves it. The text is then at
// its beginning.
func IsSaved(f io.ReadSeeker) bool {
	defer f.Seek(0, io.SeekStart)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	d := json.NewDecoder(f)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	if t, err := d.Token(); err != nil || t != "meta" {
		return false
	}
	var meta struct {
		Tool string `json:"tool"`
	}
	return d.Decode(&meta) == nil && meta.Tool == Tool
}

// Read decodes a document, and refuses one of another schema.
func Read(f io.ReadSeeker) (*Run, error) {
	d := &Run{}
	if err := report.Decode(f, d); err != nil {
		return nil, fmt.Errorf("not a merged run: %w", err)
	}
	switch {
	case d.Meta.Tool != Tool:
		return nil, errors.New("not a merged run: cg merge FOLDER -o FILE makes one")
	case !report.Reads(d.Meta.SchemaVersion):
		return nil, report.Unreadable(d.Meta.CgVersion, d.Meta.SchemaVersion, "use that cg, or a newer one")
	}
	for _, h := range d.Heat {
		if h.Function < 0 || h.Function >= len(d.Functions) || len(h.EnergyUj) != len(d.Ranks) ||
			len(h.TimeUs) != len(d.Ranks) {
			return nil, errors.New("not a merged run: heat does not fit to functions and ranks")
		}
	}
	return d, d.renew()
}

// Schema is the JSON Schema of a document: docs/cluster.schema.json.
func Schema() map[string]any {
	return report.SchemaOf(reflect.TypeFor[Run](), "A run of many ranks merged by cg")
}

var compiled = sync.OnceValues(func() (*schema.Schema, error) {
	b, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}
	return schema.Compile(b)
})

// Validate compares a text with the schema. The error names the first field that differs.
func Validate(f io.ReadSeeker) error {
	rules, err := compiled()
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return rules.Read(jsontext.NewDecoder(f))
}

// Check recomputes a document from its parts and lists what differs. Each line begins
// with the field.
func (d *Run) Check() (faults []string) {
	fault := func(field, format string, args ...any) {
		faults = append(faults, field+": "+fmt.Sprintf(format, args...))
	}
	sum := func(field, of string, got, want report.Joules) {
		if got != want {
			fault(field, "%d uJ, but %s add up to %d uJ", uint64(got), of, uint64(want))
		}
	}
	var whole, shares, ranks, lines, mpi report.Joules
	known := false
	for i, n := range d.Nodes {
		field := fmt.Sprintf("nodes[%d] (%s)", i, n.Name)
		var inTotal report.Joules
		for _, domain := range n.Domains {
			sum(field+".domains."+domain.ID, "its parts", domain.TotalJ, domain.RanksJ+domain.OtherJ+domain.IdleJ+
				domain.OwnJ+domain.UnattributedJ)
			if domain.InTotal {
				inTotal += domain.TotalJ
			}
		}
		if n.EnergyJ != nil {
			known = true
			sum(field+".energy_j", "its domains in the total", *n.EnergyJ, inTotal)
			sum(field+".energy_j", "its parts", *n.EnergyJ, n.RanksJ+n.OtherJ+n.IdleJ+n.OwnJ+n.UnattributedJ)
			whole += *n.EnergyJ
			shares += n.RanksJ
		}
	}
	for _, r := range d.Ranks {
		if r.EnergyJ != nil {
			ranks += *r.EnergyJ
		}
		if r.MPIEnergyJ != nil {
			mpi += *r.MPIEnergyJ
		}
	}
	for _, l := range d.Ledger {
		lines += l.EnergyJ
	}
	t := d.Totals
	if (t.EnergyJ != nil) != known || known != (t.RanksEnergyJ != nil) {
		fault("totals.energy_j", "it is known where that of a node is, and else not")
	} else if known {
		sum("totals.energy_j", "the nodes", *t.EnergyJ, whole)
		sum("totals.energy_j", "the lines of the ledger", *t.EnergyJ, lines)
		sum("totals.ranks_energy_j", "the nodes' shares", *t.RanksEnergyJ, shares)
		sum("totals.ranks_energy_j", "the ranks", *t.RanksEnergyJ, ranks)
	}
	if t.MPIEnergyJ != nil && known {
		sum("totals.mpi_energy_j", "the ranks", *t.MPIEnergyJ, mpi)
		if t.ComputingEnergyJ != nil {
			sum("totals.ranks_energy_j", "MPI and computing", *t.RanksEnergyJ, *t.MPIEnergyJ+*t.ComputingEnergyJ)
		}
	}
	for _, h := range d.Heat {
		d.checkHeat(h, fault)
	}
	d.checkFootprint(fault)
	digest, err := d.digest()
	if d.asWritten != nil {
		digest, err = *d.asWritten, nil
	}
	if d.SHA256 != "" && (err != nil || digest != d.SHA256) {
		fault("sha256", "the file is not as it was written: its digest is %s, not %s", digest, d.SHA256)
	}
	return faults
}

// checkHeat holds what ranks used in a function against the function.
func (d *Run) checkHeat(h Heat, fault func(field, format string, args ...any)) {
	f := d.Functions[h.Function]
	var sum uint64
	for _, e := range h.EnergyUj {
		if e != nil {
			sum += *e
		}
	}
	if f.SelfEnergyJ != nil && uint64(*f.SelfEnergyJ) != sum {
		fault("functions ("+strings.TrimSpace(f.Name)+").self_energy_j", "%d uJ, but the ranks in heat have %d uJ",
			uint64(*f.SelfEnergyJ), sum)
	}
}
