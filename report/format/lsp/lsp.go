// Package lsp writes the energies of functions as inlay hints of the Language Server Protocol, which editors show
// beside the code.
//
// The document is a list with an object for each file: its uri, and hints, which is what a server answers to
// textDocument/inlayHint (https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/).
package lsp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "lsp", Title: "joules of functions as inlay hints of editors", Endings: []string{".lsp.json"},
		Writers: []format.Writer{format.Writes(write)},
	})
}

// file is what editors show in one file.
type file struct {
	URI   string `json:"uri"`
	Hints []hint `json:"hints"`
}

// hint is an InlayHint. It has no kind: those of the protocol are types and parameters.
type hint struct {
	Position    position `json:"position"`
	Label       string   `json:"label"`
	Tooltip     string   `json:"tooltip"`
	PaddingLeft bool     `json:"paddingLeft"`
	Data        data     `json:"data"`
}

// position counts from 0, characters in UTF-16 code units.
type position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// lineEnd is behind the last character: a position that is greater than the line's length is the line's length.
const lineEnd = 1<<31 - 1

// data are the figures, for programs.
type data struct {
	Name               string         `json:"name"`
	Calls              uint64         `json:"calls"`
	SelfEnergyJ        *report.Joules `json:"self_energy_j"`
	SelfEnergyLoJ      *report.Joules `json:"self_energy_lo_j"`
	SelfEnergyHiJ      *report.Joules `json:"self_energy_hi_j"`
	InclusiveEnergyJ   *report.Joules `json:"inclusive_energy_j"`
	InclusiveEnergyLoJ *report.Joules `json:"inclusive_energy_lo_j"`
	InclusiveEnergyHiJ *report.Joules `json:"inclusive_energy_hi_j"`
	EnergyKind         string         `json:"energy_kind"`
}

func write(w io.Writer, r *report.Run, _ format.Options) error {
	byURI := map[string]*file{}
	for _, f := range r.Functions {
		uri, ok := uriOf(r.Meta.Cwd, f)
		if !ok {
			continue
		}
		if byURI[uri] == nil {
			byURI[uri] = &file{URI: uri}
		}
		byURI[uri].Hints = append(byURI[uri].Hints, hintOf(r, f))
	}
	all := []file{}
	for _, f := range byURI {
		slices.SortStableFunc(f.Hints, func(a, b hint) int {
			return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), strings.Compare(a.Data.Name, b.Data.Name))
		})
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.URI, b.URI) })
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(all)
}

// uriOf is that of a function's file; ok is false where it stands in none, or nothing tells which.
func uriOf(cwd string, f report.Function) (uri string, ok bool) {
	name := f.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(cwd, name)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(name)}
	return u.String(), f.IsPlaced() && filepath.IsAbs(name)
}

func hintOf(r *report.Run, f report.Function) hint {
	mark, name, kind := report.Mark(f.EnergyKind), shown.Line(f.Name), shown.Line(string(f.EnergyKind))
	label := mark + figures.Energy(f.InclusiveEnergyJ)
	if self := mark + figures.Energy(f.SelfEnergyJ); self != label { // two that are shown alike say one thing twice
		label += ", self " + self
	}
	if f.SelfEnergyJ == nil && f.InclusiveEnergyJ == nil {
		label = "? J"
	}
	lines := []string{name}
	add := func(what string, e, lo, hi *report.Joules) {
		if e != nil {
			lines = append(lines, fmt.Sprintf("%s %s%s %s, %s", what, mark, figures.Energy(e), figures.Interval(lo, hi),
				kind))
		}
	}
	add("inclusive", f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ)
	add("self", f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
	if f.Unresolved != "" {
		lines = append(lines, "its own part is not told: "+shown.Line(f.Unresolved))
	}
	if f.Calls > 0 {
		lines = append(lines, "calls: "+figures.Count(f.Calls))
	}
	lines = append(lines, "run of "+shown.Line(r.Meta.StartedAt))
	return hint{
		Position: position{uint32(f.Line - 1), lineEnd}, Label: label, Tooltip: strings.Join(lines, "\n"),
		PaddingLeft: true, Data: data{name, f.Calls, f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ,
			f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ, kind},
	}
}
