package codegreen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// session is what a case of files.json has.
type session struct {
	Name    string
	Session struct {
		Name    string
		Began   float64 `json:"began_s"`
		Mono    int64   `json:"mono_ns"`
		Stopped int64   `json:"stopped_ns"`
		Record  bool
	}
	Source struct {
		Via       string
		Interval  int64   `json:"interval_ns"`
		CgVersion *string `json:"cg_version"`
		CPUModel  string  `json:"cpu_model"`
		Version   *int
		Lost      int
		Support   *string
		Topology  json.RawMessage
	}
	Domains []domain
	Samples [][]int64
	Tasks   []struct {
		Name      string
		Depth     int
		Parent    *int
		Started   int64 `json:"started_ns"`
		Ended     int64 `json:"ended_ns"`
		Forgotten bool
		Counts    []countCall
		Energy    *struct {
			Total   int64 `json:"uj"`
			Machine int64 `json:"machine_uj"`
			Lo      int64 `json:"lo_uj"`
			Hi      int64 `json:"hi_uj"`
			Method  string
			Domains map[string]int64
			Program []int64 `json:"program_uj"` // with its bounds
		}
	}
	Want struct {
		Meta, Totals map[string]any
		Tasks        []map[string]any
		Warnings     []string
	}
}

// file is the file of the session.
func (of session) file() ([]byte, error) {
	src := &source{via: of.Source.Via, intervalNs: of.Source.Interval, domains: of.Domains, cpuModel: of.Source.CPUModel}
	if of.Source.CgVersion != nil {
		src.cgVersion = *of.Source.CgVersion
	}
	if of.Source.Version != nil {
		src.version = *of.Source.Version
	}
	if of.Source.Support != nil {
		src.support = *of.Source.Support
	}
	if string(of.Source.Topology) != "null" {
		src.topology = of.Source.Topology
	}
	if of.Source.Lost > 0 {
		src.ring = &ring{lost: of.Source.Lost}
	}
	s := &Session{
		name: of.Session.Name, config: config{record: of.Session.Record, format: "json"},
		mono: of.Session.Mono, stopped: of.Session.Stopped, began: time.UnixMicro(int64(of.Session.Began * 1e6)),
		source: src, samples: newSamples(of.Domains), over: true,
	}
	for _, row := range of.Samples {
		var micro []uint64
		for _, v := range row[2:] {
			micro = append(micro, uint64(v))
		}
		s.samples.add(row[0], uint64(row[1]), micro)
	}
	for _, t := range of.Tasks {
		task := &Task{
			session: s, name: t.Name, depth: t.Depth, thread: 1,
			started: t.Started, ended: t.Ended, forgotten: t.Forgotten, resolved: true,
		}
		if t.Parent != nil {
			task.parent = s.tasks[*t.Parent]
		}
		if e := t.Energy; e != nil {
			task.energy = &energy{e.Domains, e.Total, e.Machine, e.Lo, e.Hi, e.Method, nil}
			if e.Program != nil {
				task.energy.program = &share{e.Program[0], e.Program[1], e.Program[2]}
			}
		}
		for _, c := range t.Counts {
			if err := task.Count(float64(c.n), c.unit); err != nil {
				return nil, err
			}
		}
		s.tasks = append(s.tasks, task)
	}
	var b bytes.Buffer
	err := s.json(&b)
	return b.Bytes(), err
}

func same(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, is := got.(map[string]any)
		return is && maps.EqualFunc(got, want, same)
	case []any:
		got, is := got.([]any)
		return is && slices.EqualFunc(got, want, same)
	case float64:
		got, is := got.(float64)
		return is && math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))
	}
	return got == want
}

// fields are those of objects, by the name of the object.
type fields map[string]map[string]fieldOf

type fieldOf struct {
	Of, Field, Type, Only string
	Null                  bool
}

// hold checks that an object has its fields, no others, and values of their types.
func (f fields) hold(t *testing.T, name, of string, object any) {
	t.Helper()
	got, is := object.(map[string]any)
	if !is {
		t.Errorf("%s: %s is %v", name, of, object)
		return
	}
	for field, row := range f[of] {
		v, is := got[field]
		fits := v == nil && row.Null
		switch v := v.(type) {
		case string:
			fits = row.Type == "string"
		case bool:
			fits = row.Type == "boolean"
		case float64:
			fits = row.Type == "number" || row.Type == "integer" && v == math.Trunc(v)
		case []any:
			fits = row.Type == "list"
		case map[string]any:
			fits = row.Type == "object"
		}
		if !is || !fits {
			t.Errorf("%s: %s of %s is %v, want %+v", name, field, of, v, row)
		}
	}
	for field := range got {
		if f[of][field].Field == "" {
			t.Errorf("%s: %s has %s, which is no field", name, of, field)
		}
	}
}

// holdFile checks all objects of a file.
func (f fields) holdFile(t *testing.T, name string, got map[string]any) {
	t.Helper()
	at := func(object any, field string) any { return object.(map[string]any)[field] }
	each := func(of string, list any) {
		for _, one := range list.([]any) {
			f.hold(t, name, of, one)
		}
	}
	f.hold(t, name, "file", got)
	f.hold(t, name, "meta", got["meta"])
	f.hold(t, name, "timeseries", at(got["meta"], "timeseries"))
	f.hold(t, name, "sampler", at(got["meta"], "sampler"))
	for _, place := range at(got["meta"], "domain_topology").(map[string]any) {
		f.hold(t, name, "place", place)
	}
	f.hold(t, name, "totals", got["totals"])
	each("noise_warning", at(got["totals"], "noise_warnings"))
	each("warning", got["warnings"])
	each("task", got["tasks"])
	each("unit", at(got["totals"], "units"))
	for _, task := range got["tasks"].([]any) {
		each("unit", at(task, "units"))
		if samples := at(task, "timeseries"); samples != nil {
			each("sample", samples)
		}
		if noise := at(task, "noise"); noise != nil {
			f.hold(t, name, "noise", noise)
		}
	}
}

func TestFiles(t *testing.T) {
	f := fields{}
	table(t, "fields.json", func(t *testing.T, row fieldOf) {
		if row.Only != "" && row.Only != "go" {
			return
		}
		if f[row.Of] == nil {
			f[row.Of] = map[string]fieldOf{}
		}
		f[row.Of][row.Field] = row
	})
	table(t, "files.json", func(t *testing.T, of session) {
		text, err := of.file()
		if err != nil {
			t.Errorf("%s: %v", of.Name, err)
			return
		}
		path := filepath.Join(os.Getenv("FILES"), strings.ReplaceAll(of.Name, " ", "-")+".json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Errorf("%s: %v", of.Name, err)
			return
		}
		f.holdFile(t, of.Name, got)
		compare := func(what string, got any, want map[string]any) {
			for field, v := range want {
				if is := got.(map[string]any)[field]; !same(is, v) {
					t.Errorf("%s: %s of %s is %v, want %v", of.Name, field, what, is, v)
				}
			}
		}
		compare("meta", got["meta"], of.Want.Meta)
		compare("totals", got["totals"], of.Want.Totals)
		tasks := got["tasks"].([]any)
		for i, want := range of.Want.Tasks {
			if i < len(tasks) {
				compare(fmt.Sprint("task ", i), tasks[i], want)
			}
		}
		slugs := []string{}
		for _, w := range got["warnings"].([]any) {
			slugs = append(slugs, w.(map[string]any)["slug"].(string))
		}
		if len(tasks) != len(of.Want.Tasks) || !slices.Equal(slugs, of.Want.Warnings) {
			t.Errorf("%s: %d tasks and warnings %q, want %d and %q", of.Name, len(tasks), slugs, len(of.Want.Tasks), of.Want.Warnings)
		}
	})
}
