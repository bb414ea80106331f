// Package html writes runs as a page for a browser, in one file that needs no network.
package html

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

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
	pageScripts = []string{"uplot/uPlot.iife.min.js", "base.js", "shared.js", "search.js", "tree.js", "block.js",
		"head.js", "lanes.js", "power.js", "flame.js", "functions.js", "source.js", "compare.js", "overview.js",
		"panel.js", "export.js", "page.js"}
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
			format.Writes(writeGate), format.Writes(writeComparison)},
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

// mostSourceWhole is the most of all files that a page takes, in bytes; of one it takes
// MostSource.
const mostSourceWhole = 16 << 20

// pageData is what the script shows: data that it reads at once, and a block with the call
// paths.
func pageData(runs report.Several, o format.Options) (data, block []byte, err error) {
	d := struct {
		Names    []string              `json:"names"`
		Runs     []pageRun             `json:"runs"`
		Problems []string              `json:"problems"`
		Advice   map[string]string     `json:"advice"` // by slug of a warning
		Sources  map[string]pageSource `json:"sources"`
		// Comparison is of the first and the last run; null for one run, and for one
		// that is held against itself.
		Comparison *pageComparison `json:"comparison"`
	}{Names: pageTitles(runs, o), Problems: append([]string{}, runs.Different()...), Advice: map[string]string{}}
	for _, r := range runs {
		p := pageRunOf(r, o.Source != nil)
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
	if o.Source != nil {
		d.Sources = pageSources(runs, o)
	}
	d.Comparison = pageComparisonOf(runs, d.Names)
	data, err = frame.JSON(d)
	return data, block, err
}

// pageSources are the files with functions, the dearest first as long as there
// is room.
func pageSources(runs []*report.Run, o format.Options) map[string]pageSource {
	out := map[string]pageSource{}
	room := mostSourceWhole
	for _, r := range runs {
		files := []string{}
		for _, f := range r.Functions {
			if f.File != "" && !slices.Contains(files, f.File) {
				files = append(files, f.File)
			}
		}
		started, _ := time.Parse(report.StampLayout, r.Meta.StartedAt)
		for _, file := range files {
			if _, ok := out[file]; ok {
				continue
			}
			text, modified, err := o.Source(file)
			s := pageSource{}
			switch {
			case err != nil:
				s.Note = err.Error()
			case len(text) > report.MostSource:
				s.Note = fmt.Sprintf("left out: a page takes %d bytes of a file, and it has more", report.MostSource)
			case len(text) > room:
				s.Note = fmt.Sprintf("left out: dearer files have filled the %d bytes that a page takes",
					mostSourceWhole)
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
