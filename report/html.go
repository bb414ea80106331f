package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cg/docs"
	"cg/nemb"
)

//go:generate html/uplot.sh

//go:embed html
var page embed.FS

// The parts of the page, in their order. uPlot (MIT, html/uplot) draws what
// goes over time; its licence stands in the page.
var (
	pageScripts = []string{"uplot/uPlot.iife.min.js", "base.js", "head.js", "lanes.js", "power.js", "flame.js", "functions.js", "source.js", "compare.js", "page.js"}
	pageStyles  = []string{"uplot/uPlot.min.css", "page.css"}
)

func init() {
	register(Format{
		Name: "html", Title: "a page for a browser, in one file that needs no network", Endings: []string{".html", ".htm"},
		Several: true, Picture: true, Time: true, Write: writeHTML,
	})
}

// writeHTML writes one file with everything in it. Its policy forbids the
// browser to load or send anything; what the runs tell is data, which scripts
// put into the page as text only.
func writeHTML(w io.Writer, runs []*Run, o Options) error {
	script, err := pagePart(pageScripts)
	if err != nil {
		return err
	}
	style, err := pagePart(pageStyles)
	if err != nil {
		return err
	}
	licence, err := page.ReadFile("html/uplot/LICENSE")
	if err != nil {
		return err
	}
	text, err := page.ReadFile("html/page.html")
	if err != nil {
		return err
	}
	t, err := template.New("page").Parse(string(text))
	if err != nil {
		return err
	}
	data, err := pageData(runs, o)
	if err != nil {
		return err
	}
	var plain bytes.Buffer
	if err := writeText(&plain, runs, Options{Terminal: Terminal{Width: 100, Verbose: true}, Names: o.Names}); err != nil {
		return err
	}
	return t.Execute(w, map[string]any{
		"Policy": fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", policyHash(script), policyHash(style)),
		"Title":  strings.Join(pageTitles(runs, o), " and "), "Version": runs[0].Meta.CgVersion,
		"Style": template.CSS(style), "Script": template.JS(script), "Data": template.JS(data),
		"Text": plain.String(), "Licence": string(licence),
	})
}

func pageTitles(runs []*Run, o Options) []string {
	if len(runs) == 1 {
		return []string{runs[0].program()}
	}
	return o.names(runs)
}

func pagePart(names []string) (string, error) {
	var out strings.Builder
	for _, name := range names {
		b, err := page.ReadFile("html/" + name)
		if err != nil {
			return "", err
		}
		out.Write(b)
		out.WriteByte('\n')
	}
	return out.String(), nil
}

// policyHash names an inline script or style to a Content-Security-Policy
// (www.w3.org/TR/CSP3).
func policyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pageRun is a run whose long lists stand in columns: a third of the bytes.
type pageRun struct {
	*Run
	Paths   pagePaths   `json:"paths"`
	Samples pageSamples `json:"samples"`
	// Timeline is null where nothing tells of calls over time.
	Timeline *pageTimeline `json:"timeline"`
}

type pagePaths struct {
	Parent  []int          `json:"parent"`
	Site    []uint32       `json:"site"`
	Task    map[int]string `json:"task"` // by path
	Calls   []uint64       `json:"calls"`
	Micro   []uint64       `json:"self_uj"` // null where no energy is known
	SelfUs  []int64        `json:"self_us"`
	CPUUs   []int64        `json:"cpu_us"`
	Program string         `json:"program"`
}

type pageSamples struct {
	StartNs int64                 `json:"start_ns"`
	TUs     []int64               `json:"t_us"`
	Domains map[string]pageDomain `json:"domains"`
	Program []int64               `json:"program_us"`
	Own     []int64               `json:"own_us"`
	Other   []int64               `json:"other_us"`
}

type pageDomain struct {
	UJ []uint64   `json:"uj"`
	W  []*float64 `json:"w"`
}

func micros(s float64) int64 { return int64(s*1e6 + 0.5) }

// orEmpty is a list that is [] in JSON, and not null, when there is none.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func pageRunOf(r *Run) pageRun {
	whole := *r
	whole.Tasks, whole.Functions, whole.Sites = orEmpty(r.Tasks), orEmpty(r.Functions), orEmpty(r.Sites)
	whole.Ledger, whole.Skipped, whole.Warnings = orEmpty(r.Ledger), orEmpty(r.Skipped), orEmpty(r.Warnings)
	whole.Meta.Argv = orEmpty(r.Meta.Argv)
	if r.Meta.DomainTopology == nil {
		whole.Meta.DomainTopology = map[string]Topology{}
	}
	if r.Totals.Kind == "" {
		whole.Totals.Kind = nemb.Unavailable
	}
	out := pageRun{Run: &whole}
	p := &out.Paths
	p.Program, p.Task = r.program(), map[int]string{}
	p.Parent, p.Site, p.Calls, p.SelfUs, p.CPUUs = []int{}, []uint32{}, []uint64{}, []int64{}, []int64{}
	for i, path := range r.Paths {
		p.Parent, p.Site, p.Calls = append(p.Parent, path.Parent), append(p.Site, path.Site), append(p.Calls, path.Calls)
		p.SelfUs, p.CPUUs = append(p.SelfUs, micros(path.SelfTimeS)), append(p.CPUUs, micros(path.CPUTimeS))
		if path.SelfEnergyJ != nil {
			p.Micro = append(p.Micro, uint64(*path.SelfEnergyJ))
		}
		if path.Task != "" {
			p.Task[i] = path.Task
		}
	}
	s := &out.Samples
	s.Domains, s.TUs, s.Program, s.Own, s.Other = map[string]pageDomain{}, []int64{}, []int64{}, []int64{}, []int64{}
	for i, sample := range r.Samples {
		if i == 0 {
			s.StartNs = sample.TNs
		}
		s.TUs = append(s.TUs, (sample.TNs-s.StartNs)/1000)
		s.Program, s.Own, s.Other = append(s.Program, micros(sample.ProgramCPUS)), append(s.Own, micros(sample.OwnCPUS)), append(s.Other, micros(sample.OtherCPUS))
		for id, e := range sample.DomainJ {
			d := s.Domains[id]
			var power *float64
			if w, ok := sample.DomainW[id]; ok {
				power = &w
			}
			d.UJ, d.W = append(d.UJ, uint64(e)), append(d.W, power)
			s.Domains[id] = d
		}
	}
	return out
}

// pageComparison is what a page shows of a Comparison.
type pageComparison struct {
	Threshold float64      `json:"threshold"`
	Totals    []Change     `json:"totals"`
	Functions []pageChange `json:"functions"`
	Notes     []string     `json:"notes"`
}

// pageChange is the change of a function, which the page knows by its language
// and name in the last run.
type pageChange struct {
	Language  string   `json:"language"`
	Name      string   `json:"name"`
	Was       string   `json:"was,omitempty"`
	MatchedBy string   `json:"matched_by"`
	Base      *float64 `json:"base"`
	Head      *float64 `json:"head"`
	Lo        *float64 `json:"lo"`
	Hi        *float64 `json:"hi"`
	Verdict   Verdict  `json:"verdict"`
	Why       string   `json:"why,omitempty"`
	Weak      bool     `json:"weak"`
}

// pageThreshold is the smallest change that a page calls one.
const pageThreshold = 0.05

func pageComparisonOf(runs []*Run, names []string) *pageComparison {
	if len(runs) < 2 {
		return nil
	}
	last := len(runs) - 1
	c, err := Compare(CompareSide{names[:1], []Saved{{Run: runs[0]}}}, CompareSide{names[last:], []Saved{{Run: runs[last]}}}, CompareOptions{Threshold: pageThreshold, Allow: true})
	if err != nil { // the same run twice
		return nil
	}
	out := &pageComparison{Threshold: pageThreshold, Totals: c.Totals, Functions: []pageChange{}, Notes: c.Notes}
	for _, f := range c.Functions {
		out.Functions = append(out.Functions, pageChange{
			Language: f.Language, Name: f.Name, Was: f.Was, MatchedBy: f.MatchedBy, Base: f.Base.Value, Head: f.Head.Value,
			Lo: f.Lo, Hi: f.Hi, Verdict: f.Verdict, Why: f.Why, Weak: f.Weak,
		})
	}
	return out
}

// pageSource is a file of a program, or why it is not there.
type pageSource struct {
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// MostSource is the longest file that a page takes, and mostSourceWhole the
// most of all together, in bytes.
const (
	MostSource      = 1 << 20
	mostSourceWhole = 16 << 20
)

// pageData is JSON in which no character means anything to HTML: <, > and &
// are written as \u003c, \u003e and \u0026.
func pageData(runs []*Run, o Options) ([]byte, error) {
	var b bytes.Buffer
	d := struct {
		Names    []string              `json:"names"`
		Runs     []pageRun             `json:"runs"`
		Problems []string              `json:"problems"`
		Advice   map[string]string     `json:"advice"` // by slug of a warning
		Sources  map[string]pageSource `json:"sources"`
		// Comparison is of the first and the last run; null for one run, and for one
		// that is held against itself.
		Comparison *pageComparison `json:"comparison"`
	}{Names: pageTitles(runs, o), Problems: append([]string{}, comparable(runs)...), Advice: map[string]string{}}
	for _, r := range runs {
		p := pageRunOf(r)
		if len(runs) == 1 {
			var err error
			if p.Timeline, err = pageTimelineOf(r, p.Samples.StartNs, o); err != nil {
				return nil, err
			}
		}
		d.Runs = append(d.Runs, p)
		for _, w := range r.Warnings {
			if advice := docs.Advice(w.Slug); advice != "" {
				d.Advice[w.Slug] = advice
			}
		}
	}
	if o.Source != nil {
		d.Sources = pageSources(runs, o)
	}
	d.Comparison = pageComparisonOf(runs, d.Names)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(true)
	err := e.Encode(d)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// pageSources are the files with functions, the dearest first as long as there
// is room.
func pageSources(runs []*Run, o Options) map[string]pageSource {
	out := map[string]pageSource{}
	room := mostSourceWhole
	for _, r := range runs {
		files := []string{}
		for _, f := range r.Functions {
			if f.File != "" && !slices.Contains(files, f.File) {
				files = append(files, f.File)
			}
		}
		started, _ := time.Parse(rfc3339, r.Meta.StartedAt)
		for _, file := range files {
			if _, ok := out[file]; ok {
				continue
			}
			text, modified, err := o.Source(file)
			s := pageSource{}
			switch {
			case err != nil:
				s.Note = err.Error()
			case len(text) > MostSource:
				s.Note = fmt.Sprintf("left out: a page takes %d bytes of a file, and it has more", MostSource)
			case len(text) > room:
				s.Note = fmt.Sprintf("left out: dearer files have filled the %d bytes that a page takes", mostSourceWhole)
			case !utf8.Valid(text):
				s.Note = "left out: it is no UTF-8"
			default:
				room -= len(text)
				s.Text = string(text)
				if !started.IsZero() && modified.After(started) {
					s.Note = "changed since the run: lines may have moved"
				}
			}
			out[file] = s
		}
	}
	return out
}
