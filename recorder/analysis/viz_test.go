package analysis_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"cg/recorder/analysis"
)

// ofViz are the figures of recorder-viz 0.5.4 of a trace, by its own functions: function_layers,
// function_patterns, file_access_patterns, io_statistics, io_sizes, record_counts, file_counts and
// build_offset_intervals. They were given the records that cg's reader of the Python SDK gives, which
// TestRecordersOwnText of cg/recorder holds against Recorder's own recorder2text.
type ofViz struct {
	Layers        map[string]uint64       `json:"layers"`
	Patterns      analysis.Pattern        `json:"patterns"`
	Overlaps      map[string][8]uint64    `json:"overlaps"`
	Files         map[string][6]float64   `json:"files"`
	ReadSizes     map[string]string       `json:"read_sizes"`
	WriteSizes    map[string]string       `json:"write_sizes"`
	Records       []uint64                `json:"records"`
	FilesAccessed []int                   `json:"files_accessed"`
	Accesses      map[string][][6]float64 `json:"accesses"`
}

// UnmarshalJSON reads an access of recorder-viz, in which the last of six values is true or false.
func (v *ofViz) UnmarshalJSON(b []byte) error {
	type plain ofViz
	all := struct {
		*plain
		Accesses map[string][][]any `json:"accesses"`
	}{plain: (*plain)(v)}
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	v.Accesses = map[string][][6]float64{}
	for file, list := range all.Accesses {
		for _, one := range list {
			var row [6]float64
			for i := range 5 {
				row[i] = one[i].(float64)
			}
			if one[5].(bool) {
				row[5] = 1
			}
			v.Accesses[file] = append(v.Accesses[file], row)
		}
	}
	return nil
}

// The figures of real traces are those of recorder-viz but for what the document says: overlaps across a
// close count here, and recorder-viz has no seconds of metadata.
func TestRecorderViz(t *testing.T) {
	for name, sessions := range map[string]bool{"ranks": false, "interprocess": false, "user": true} {
		b, err := os.ReadFile("testdata/" + name + ".recorder-viz.json")
		if err != nil {
			t.Fatal(err)
		}
		var want ofViz
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		a := of(t, "../testdata/"+name, analysis.Options{})
		layers := map[string]uint64{"hdf5": 0, "mpi": 0, "posix": 0}
		for _, l := range a.Layers {
			switch l.Name {
			case "mpi-io":
				layers["mpi"] += l.Calls
			case "user": // recorder-viz leaves these out
			default:
				layers[l.Name] += l.Calls
			}
		}
		sizes := func(all []analysis.Size) map[string]string {
			out := map[string]string{}
			for _, s := range all {
				out[fmt.Sprint(s.Bytes)] = fmt.Sprint(s.Count)
			}
			return out
		}
		got := ofViz{Layers: layers, Patterns: *a.Patterns.Files, Overlaps: map[string][8]uint64{}, Files: map[string][6]float64{},
			ReadSizes: sizes(a.ReadSizes), WriteSizes: sizes(a.WriteSizes), Accesses: map[string][][6]float64{}}
		for _, r := range a.Ranks {
			got.Records, got.FilesAccessed = append(got.Records, r.Records), append(got.FilesAccessed, r.Accessed)
		}
		for _, f := range a.Files {
			o := f.Overlaps
			got.Overlaps[f.Name] = [8]uint64{o.RARSame, o.RAWSame, o.WAWSame, o.WARSame, o.RAROther, o.RAWOther, o.WAWOther, o.WAROther}
			got.Files[f.Name] = [6]float64{float64(f.WrittenBytes), f.WriteS, f.WriteMB, float64(f.ReadBytes), f.ReadS, f.ReadMB}
			slices.SortStableFunc(f.Points, func(x, y analysis.Point) int { return int(math.Copysign(1, x.From-y.From)) })
			for _, p := range f.Points {
				row := [6]float64{float64(p.Rank), p.From, p.To, float64(p.Offset), float64(p.Count), 0}
				if p.Read {
					row[5] = 1
				}
				got.Accesses[f.Name] = append(got.Accesses[f.Name], row)
			}
			for i, v := range got.Files[f.Name] {
				if w := want.Files[f.Name][i]; math.Abs(v-w) > 1e-9*max(1, w) {
					t.Errorf("%s %s: %v, want %v", name, f.Name, got.Files[f.Name], want.Files[f.Name])
				}
			}
		}
		got.Files = want.Files
		if sessions {
			if o := got.Overlaps["/tmp/rec-run/uf.out"]; o != [8]uint64{0, 0, 3} {
				t.Errorf("overlaps across closes: %v", o)
			}
			got.Overlaps = want.Overlaps
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, want)
		}
	}
}
