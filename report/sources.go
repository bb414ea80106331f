package report

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// Source is the text of a file of a program.
type Source struct {
	File string `json:"file"`
	Text string `json:"text"`
	// Note says why there is no text, or what to know about it.
	Note string `json:"note,omitempty"`
}

// MostSources is the most that is taken of all files of a program, in bytes. MostSource
// is the most of one.
const MostSources = 16 << 20

// ReadSources gives the files of a run's functions, the dearest first as long as there is
// room, which it takes away. read tells when a file was changed.
func (r *Run) ReadSources(read func(file string) ([]byte, time.Time, error), room *int) []Source {
	started, _ := time.Parse(StampLayout, r.Meta.StartedAt)
	out := []Source{}
	for _, f := range r.Functions {
		if f.File == "" || slices.ContainsFunc(out, func(s Source) bool { return s.File == f.File }) {
			continue
		}
		s := Source{File: f.File}
		text, modified, err := read(f.File)
		switch {
		case err != nil:
			s.Note = err.Error()
		case len(text) > MostSource:
			s.Note = fmt.Sprintf("left out: of a file %d bytes are taken, and it has more", MostSource)
		case len(text) > *room:
			s.Note = fmt.Sprintf("left out: dearer files have filled the %d bytes that are taken", MostSources)
		case !utf8.Valid(text):
			s.Note = "left out: it is no UTF-8"
		default:
			*room -= len(text)
			s.Text = string(text)
			if !started.IsZero() && modified.After(started) {
				s.Note = "changed since the run: lines may have moved"
			}
		}
		out = append(out, s)
	}
	return out
}

// KeepSources keeps the files of the run's functions in the run.
func (r *Run) KeepSources(read func(file string) ([]byte, time.Time, error)) {
	room := MostSources
	r.Sources = r.ReadSources(read, &room)
}
