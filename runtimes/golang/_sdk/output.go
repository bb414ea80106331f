package codegreen

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plain is a text with escapes in the place of what is not printed but obeyed by
// a terminal.
func plain(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// replace writes a file aside, syncs it, and gives it its name. A device or a pipe
// stays what it is.
func replace(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return into(path, write)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	part := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.part-%08x", filepath.Base(path), rand.Uint32()))
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if info, err := os.Stat(path); err == nil {
		f.Chmod(info.Mode().Perm())
	}
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// into writes to what is no file. Nobody is waited for who reads it.
func into(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// json writes the session, s.data being locked. Samples may be many, so it goes
// in pieces.
func (s *Session) json(w io.Writer) error {
	r := s.report()
	var failed error
	put := func(text string, values ...any) {
		io.WriteString(w, text)
		for _, v := range values {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(v); err != nil && failed == nil {
				failed = err
			}
			w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		}
	}
	put("{\n\"meta\": ", r.meta)
	put(",\n\"tasks\": [")
	for i, t := range r.tasks {
		if i > 0 {
			put(",")
		}
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		put("\n" + string(b[:len(b)-1]) + ",\"timeseries\":")
		if !s.record {
			put("null,\"noise\":null}")
			continue
		}
		before := "["
		err = s.eachSample(r.done[i], func(b []byte) {
			io.WriteString(w, before+"\n")
			w.Write(b)
			before = ","
		})
		if err != nil {
			return err
		}
		if before == "[" {
			put("[")
		}
		put("],\"noise\":", r.noises[i])
		put("}")
	}
	if s.gauges != nil && s.record {
		put("],\n\"gauges\": [")
		for n := range s.gauges.times {
			put(strings.Repeat(",", min(n, 1))+"\n", s.gauges.reading(n))
		}
	}
	s.mu.Lock()
	words := slices.Clone(s.words)
	s.mu.Unlock()
	if words == nil {
		words = []word{}
	}
	put("],\n\"totals\": ", r.totals)
	put(",\n\"warnings\": ", words)
	put("\n}\n")
	return failed
}

// cell is a text that no spreadsheet runs
// (owasp.org/www-community/attacks/CSV_Injection): an apostrophe stands before what
// begins like a formula, also behind a semicolon, which separates cells in some
// countries. Numbers stay numbers.
func cell(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "+-.0123456789eE") == "" {
		return text
	}
	parts := strings.Split(text, ";")
	for i, part := range parts {
		inner := strings.TrimLeft(part, " ")
		if first, _ := utf8.DecodeRuneInString(inner); inner != "" && strings.ContainsRune(formulaStarts, first) {
			parts[i] = part[:len(part)-len(inner)] + "'" + inner
		}
	}
	return plain(strings.Join(parts, ";"))
}

// csvLines writes a line for each task.
func (s *Session) csvLines(w io.Writer) error {
	r := s.report()
	header := slices.Clone(taskColumns)
	for _, d := range s.source.domains {
		header = append(header, cell("domain_"+d.ID+"_j"), cell("domain_"+d.ID+"_w"))
	}
	decimal := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	known := func(v *float64) string {
		if v == nil {
			return ""
		}
		return decimal(*v)
	}
	out := csv.NewWriter(w)
	out.Write(header)
	for _, t := range r.tasks {
		parent := ""
		if t.Parent != nil {
			parent = *t.Parent
		}
		line := []string{ // as taskColumns names them
			cell(t.Name), strconv.Itoa(t.Depth), cell(parent),
			known(t.Energy), known(t.Power), decimal(t.Duration), decimal(t.Suspended), known(t.Lo), known(t.Hi),
			cell(t.Kind), cell(t.Method), cell(t.Source), known(t.Machine),
			known(t.Program), known(t.ProgramLo), known(t.ProgramHi),
			decimal(t.StartedAt), decimal(t.EndedAt),
			strconv.FormatInt(t.StartedMono, 10), strconv.FormatInt(t.EndedMono, 10),
			strconv.Itoa(t.Thread), strconv.FormatBool(t.Forgotten),
		}
		for _, d := range s.source.domains {
			for _, of := range []map[string]float64{t.Domains, t.Powers} {
				text := ""
				if v, ok := of[d.ID]; ok {
					text = decimal(v)
				}
				line = append(line, text)
			}
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}

// ExportPlot draws power over time of the tasks so far into a file that ends in
// .html, .svg or .png; cg draws it. Without cg or TimeSeries there is a warning
// and no file. The error says what stood in the way.
func (s *Session) ExportPlot(path string) error {
	if s == nil {
		return nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{".html", ".svg", ".png"}, strings.ToLower(filepath.Ext(path))) {
		return fmt.Errorf("codegreen: %s: a plot ends in .html, .svg or .png", path)
	}
	defer s.tell()
	refuse := func(why string) error {
		s.note("no-plot", filepath.Base(path)+" is not drawn: "+why)
		return errors.New("codegreen: " + filepath.Base(path) + " is not drawn: " + why)
	}
	switch {
	case !s.record:
		return refuse("power over time needs TimeSeries")
	case s.source.cg == "":
		return refuse("cg is not in PATH, and CODEGREEN_CG does not name it")
	}
	dir, err := os.MkdirTemp("", "codegreen-")
	if err != nil {
		return refuse(err.Error())
	}
	defer os.RemoveAll(dir)
	saved := filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".json")
	if err := s.saveTo(saved); err != nil {
		return refuse(err.Error())
	}
	if out, err := exec.Command(s.source.cg, "report", saved, "-o", path).CombinedOutput(); err != nil {
		return refuse(strings.TrimSpace(string(out)))
	}
	return nil
}

// saveTo writes the session as it is now.
func (s *Session) saveTo(path string) error {
	s.data.Lock()
	defer s.data.Unlock()
	if s.stopped == 0 {
		s.settle(true)
		s.stopped = monotonic()
		defer func() { s.stopped = 0 }()
	}
	return replace(path, s.json)
}
