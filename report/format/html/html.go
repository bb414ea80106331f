// Package html writes runs as a page for a browser, in one file that needs no network.
package html

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"cg/docs"
	"cg/report"
	"cg/report/format"
	"cg/report/frame"
	"cg/report/iotrace"
	"cg/report/stream"
)

//go:generate page/uplot.sh

//go:embed page
var page embed.FS

// The parts of the page, in their order. uPlot (MIT, page/uplot) draws what
// goes over time; its licence stands in the page.
var (
	pageScripts = []string{"uplot/uPlot.iife.min.js", "base.js", "shared.js", "tip.js", "search.js", "tree.js",
		"block.js", "head.js", "part.js", "lanes.js", "power.js", "flame.js", "functions.js", "source.js", "compare.js",
		"gpu.js", "overview.js", "panel.js", "export.js", "page.js"}
	pageStyles = []string{"uplot/uPlot.min.css", "page.css"}
)

func init() {
	format.Register(format.Format{
		Name: "html", Title: "a page for a browser, in one file that needs no network",
		Endings: []string{".html", ".htm"},
		Picture: true, Time: true, Text: true, Slices: pageSlices,
		Writers: []format.Writer{report.Alone(write), format.Writes(write), format.Writes(writeRepeated),
			format.Writes(iotrace.WriteHTML),
			stream.AsRun(func(w io.Writer, r *report.Run, o format.Options) error {
				return write(w, report.Several{r}, o)
			}), format.Writes(writeCluster), format.Writes(writeUsage),
			format.Writes(writeGate), format.Writes(writeComparison), format.Writes(writeTrend),
			format.Writes(writeMerged), format.Writes(writeBisection)},
	})
}

// write writes one file with everything in it. Its policy forbids the
// browser to load or send anything; what the runs tell is data, which scripts
// put into the page as text only.
func write(w io.Writer, runs report.Several, o format.Options) error {
	script, err := pagePart(pageScripts)
	if err != nil {
		return err
	}
	style, err := pagePart(pageStyles)
	if err != nil {
		return err
	}
	licence, err := page.ReadFile("page/uplot/LICENSE")
	if err != nil {
		return err
	}
	data, block, err := pageData(runs, o)
	if err != nil {
		return err
	}
	all := report.Together(runs)
	text, err := format.Named(format.Default, all)
	if err != nil {
		return err
	}
	var plain bytes.Buffer
	if err := text.Write(&plain, all, format.Options{Terminal: format.Terminal{Width: 100, Verbose: plainWhole(runs)},
		Names: o.Names}); err != nil {
		return err
	}
	return body().Write(w, frame.Page{Title: strings.Join(pageTitles(runs, o), " and ") + " · energy",
		Version: runs[0].Meta.CgVersion, Style: style, Script: script, Worker: true, Data: data, Block: block,
		Body: map[string]string{"Text": plain.String(), "Licence": string(licence)}})
}

var body = sync.OnceValue(func() frame.Body {
	b, err := page.ReadFile("page/page.html")
	if err != nil {
		return func() (*template.Template, error) { return nil, err }
	}
	return frame.New(string(b))
})

// plainWhole reports whether the text for a browser without scripts has every
// function: the thousandth is of no use to anybody.
func plainWhole(runs []*report.Run) bool {
	n := 0
	for _, r := range runs {
		n += len(r.Functions) + len(r.Tasks) + len(r.Skipped)
	}
	return n <= 1000
}

func pageTitles(runs report.Several, o format.Options) []string {
	if len(runs) == 1 {
		return []string{runs[0].Title()}
	}
	return runs.Names(o)
}

func pagePart(names []string) (string, error) {
	var out strings.Builder
	for _, name := range names {
		b, err := page.ReadFile("page/" + name)
		if err != nil {
			return "", err
		}
		out.Write(b)
		out.WriteByte('\n')
	}
	return out.String(), nil
}

// pageSource is a file of a program, or why it is not there.
type pageSource struct {
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// pageData is what the script shows: data that it reads at once, and a block with the call
// paths.
func pageData(runs report.Several, o format.Options) (data, block []byte, err error) {
	d := struct {
		Names    []string              `json:"names"`
		Runs     []pageRun             `json:"runs"`
		Problems []string              `json:"problems"`
		Advice   map[string]string     `json:"advice"` // by slug of a warning
		Sources  map[string]pageSource `json:"sources"`
		// Comparisons are those of each run and the first: null for the first, and for one
		// that is held against itself. There are none of one run.
		Comparisons []*pageComparison `json:"comparisons"`
	}{Names: pageTitles(runs, o), Problems: append([]string{}, runs.Different()...), Advice: map[string]string{}}
	for _, r := range runs {
		p := pageRunOf(r, o.Source != nil || keptSources(r))
		if len(runs) == 1 {
			if p.Timeline, err = pageTimelineOf(r, p.Samples.StartNs, o); err != nil {
				return nil, nil, err
			}
		}
		block = p.Paths.appendTo(block)
		d.Runs = append(d.Runs, p)
		for _, w := range r.Warnings {
			if advice := docs.Advice(w.Slug); advice != "" {
				d.Advice[w.Slug] = advice
			}
		}
	}
	d.Sources = pageSources(runs, o)
	d.Comparisons = pageComparisonsOf(runs, d.Names)
	data, err = frame.JSON(d)
	return data, block, err
}

// pageSources are the files with functions: what runs kept, and of other runs what is read
// now. nil without either.
func pageSources(runs []*report.Run, o format.Options) map[string]pageSource {
	if o.Source == nil && !slices.ContainsFunc(runs, keptSources) {
		return nil
	}
	out := map[string]pageSource{}
	room := report.MostSources
	for _, r := range runs {
		list := r.Sources
		if !keptSources(r) && o.Source != nil {
			list = r.ReadSources(o.Source, &room)
		}
		for _, s := range list {
			if was, ok := out[s.File]; !ok || was.Text == "" {
				out[s.File] = pageSource{s.Text, s.Note}
			} else if s.Text != "" && s.Text != was.Text {
				was.Note = "another run had another text: this is that of the first"
				out[s.File] = was
			}
		}
	}
	return out
}

func keptSources(r *report.Run) bool { return len(r.Sources) > 0 }
