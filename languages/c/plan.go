package c

import (
	"embed"
	"path/filepath"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
)

//go:embed c.go coroutine.go directives.go names.go outermost.go text.go parse.go places.go plain.go plan.go
//go:embed rewrite.go simplify.go
var planSources embed.FS

// planVersion is that of what these files plan.
var planVersion = languages.SourceVersion(planSources)

// add adds a function to a plan, if it is wanted. It reports whether it was left out as a short one.
func (t *text) add(p *instrument.Plan, f function, o instrument.Options, shortOnesToo bool) (left bool) {
	site := t.site(f)
	switch {
	case !o.SiteWanted(f.kind, f.name):
		return false
	case f.alone != "":
		p.LeftAlone = append(p.LeftAlone, instrument.LeftAlone{Name: f.name, Line: site.Line, Reason: f.alone})
		return false
	case f.short && !shortOnesToo && f.name != "main":
		return true
	}
	_, line, col := t.place(f.begin)
	_, endLine, endCol := t.place(f.close)
	p.Points = append(p.Points, instrument.Point{Site: len(p.Sites), Role: instrument.Body, Start: f.begin,
		End: f.close, Line: line, Col: col, EndLine: endLine, EndCol: endCol})
	p.Sites = append(p.Sites, site)
	return false
}

func (t *text) site(f function) checkpoint.Site {
	_, line, col := t.place(f.at)
	_, endLine, _ := t.place(f.close)
	return checkpoint.Site{Func: f.name, Line: line, Col: col, EndLine: endLine, Kind: f.kind}
}

// owner tells which files of a preprocessed text are the program's.
type owner struct {
	dir     string   // where the compiler runs
	folders []string // whole paths; what is below one of them is the program's
	options instrument.Options
	// copy is the folder that a build is in, and original the one that it is a copy of; "" without.
	copy, original string
}

// moved is a path in or below another folder, if it lies there in one; "" for the folder changes nothing.
func moved(path, from, to string) string {
	if path == from && from != "" {
		return to
	}
	if rel, is := strings.CutPrefix(path, from+"/"); is && from != "" {
		return filepath.Join(to, rel)
	}
	return path
}

// sdkHeaders are what cg sdk writes; they are nobody's.
var sdkHeaders = []string{"codegreen.h", "codegreen_gpus.h", "codegreen_requests.h"}

// owned gives the whole path of a region's file, if functions in it are wanted.
func (w owner) owned(r region) (path string, is bool) {
	if r.file == "" || strings.HasPrefix(r.file, "<") {
		return "", false
	}
	path = r.file
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	path = filepath.Clean(path)
	own := false
	if slices.Contains(sdkHeaders, filepath.Base(path)) {
		return "", false
	}
	for _, folder := range w.folders {
		own = own || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
	}
	path = moved(path, w.copy, w.original)
	return path, w.options.FileWanted(path, own)
}

// unitPlan is where checkpoints go in one preprocessed text.
type unitPlan struct {
	dialect *dialect
	text    *text
	path    string // of the source file
	funcs   []planned
	loaded  bool                   // the program finds the checkpoints when it begins
	short   int                    // functions left out because they are short
	left    []instrument.LeftAlone // with the paths of their files before the names
	paths   []string               // of the files of left
	// uncomputed says that the compiler does not tell code that it computes.
	uncomputed bool
	apart      bool // what ends a call is not put into functions, since some are for other processors
	instances  bool // of templates are functions of their own
}

// choices are the switches of a command line.
type choices struct{ Inline, Instances bool }

func chosen(t languages.Target) choices {
	return choices{Inline: t.Flags["inline"] != "", Instances: t.Flags["instances"] != ""}
}

// planned is a function with a site.
type planned struct {
	function
	path   string // of its file
	site   checkpoint.Site
	places []checkpoint.Site // of its code, with -g line and -g block
	marks  []mark
}

// refused are the functions that the compiler refuses with checkpoints, as "path:line", and why: with any, and with
// those of the places in their code.
type refused struct{ functions, places map[string]string }

// planUnit plans a preprocessed text.
func (d *dialect) planUnit(source []byte, w owner, c choices, r refused) (*unitPlan, error) {
	u := &unitPlan{dialect: d, text: newText(source, true), instances: c.Instances}
	_, main := u.text.beginning()
	u.path, _ = w.owned(main)
	parsed, err := d.parse(u.text)
	if err != nil {
		return nil, err
	}
	for _, f := range parsed.funcs {
		path, is := w.owned(u.text.region(f.open))
		if !is {
			continue
		}
		site := u.text.site(f)
		if why := r.functions[placeName(path, site.Line)]; why != "" {
			f.alone = why
		}
		var p instrument.Plan
		if u.text.add(&p, f, w.options, c.Inline) {
			u.short++
		}
		for _, l := range p.LeftAlone {
			u.left, u.paths = append(u.left, l), append(u.paths, path)
		}
		if len(p.Sites) == 0 {
			continue
		}
		of := planned{function: f, path: path, site: site}
		if w.options.PlacesWanted("", path, site) {
			why := r.places[placeName(path, site.Line)]
			if why == "" {
				why = parsed.putPlaces(&of, w.options)
			}
			if why != "" {
				u.left = append(u.left, hasNoPlaces(f, site, w.options.Granularity, why))
				u.paths = append(u.paths, path)
			}
		}
		u.funcs = append(u.funcs, of)
	}
	return u, nil
}
