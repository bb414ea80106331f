package c

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages"
	"cg/runtimes"
)

// aloneFile and aloneHeader record the checkpoints of a program that runs without cg.
const (
	aloneFile   = "codegreen_alone.c"
	aloneHeader = "codegreen_alone.h"
)

// saveTarget writes the target's files below dir, with checkpoints that record themselves,
// their headers that lie below the same folder, and what records. It lists what it wrote.
func (d *dialect) saveTarget(t languages.Target, o instrument.Options, dir string) (written []string, err error) {
	files, err := d.sourceFiles(t)
	if err != nil {
		return nil, err
	}
	base, err := commonFolder(files)
	if err != nil {
		return nil, err
	}
	contents, err := runtimes.CAlone()
	if err != nil {
		return nil, err
	}
	first := 1
	for _, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		rel, _ := languages.Below(base, full)
		source, err := os.ReadFile(full)
		if err != nil {
			return nil, err
		}
		if !o.FileWanted(file, true) {
			contents[rel] = source
			continue
		}
		p, err := dialectOf(file).planNamed(file, source, o, leaveCoroutine)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		p.File = full
		text, err := edit.Apply(source, renderAlone(p, first, strings.Repeat("../", strings.Count(rel, "/"))))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		contents[rel] = text
		first += len(p.Sites)
	}
	if err := d.addHeaders(t, base, files, contents); err != nil {
		return nil, err
	}
	return languages.WriteSaved(base, dir, contents)
}

// leaveCoroutine leaves a function alone whose frame leaves the stack, for which a saved file has no events.
func leaveCoroutine(f *function) {
	if f.suspends {
		f.alone = "is a coroutine"
	}
}

// renderAlone gives the edits that turn a source file into one that records its checkpoints.
// first numbers its first site; up leads to the folder of the header.
func renderAlone(p *instrument.Plan, first int, up string) []edit.Edit {
	if len(p.Points) == 0 {
		return nil
	}
	edits := []edit.Edit{{New: fmt.Sprintf("#include \"%s%s\"\n%s#line 1\n", up, aloneHeader,
		placesAlone(p, first))}}
	for _, q := range p.Points {
		edits = append(edits, edit.Edit{Start: q.Start, End: q.Start,
			New: fmt.Sprintf(" CODEGREEN_CALL(%d, %s);", first+q.Site, quoteName(p.Sites[q.Site].Func))})
	}
	for _, m := range p.Marks {
		text := m.Text
		if m.Site != instrument.NoPlace {
			text += fmt.Sprintf("CODEGREEN_PLACE(%d); ", first+m.Site)
		}
		edits = append(edits, edit.Edit{Start: m.At, End: m.At, New: text})
	}
	return edits
}

// placesAlone tells the places of a file before its program begins, "" where it has none.
func placesAlone(p *instrument.Plan, first int) string {
	if len(p.Marks) == 0 {
		return ""
	}
	var names strings.Builder
	for _, name := range instrument.SavedNames(p, p.File, first) {
		names.WriteString(quoteName(name) + ", ")
	}
	return fmt.Sprintf("static const char *const codegreen_alone_names_%[1]d[] = {%[2]s0};\n"+
		"__attribute__((constructor(102), used)) static void codegreen_alone_tell_%[1]d(void)\n"+
		"{\n\tcodegreen_alone_places(%[1]d, codegreen_alone_names_%[1]d);\n}\n", first, names.String())
}

// quoteName writes a name as a string of C.
func quoteName(name string) string {
	return strings.TrimSuffix(quote([]string{name}), `\000"`) + `"`
}

// commonFolder is the innermost folder that all files are in.
func commonFolder(files []string) (base string, err error) {
	for i, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		if i == 0 {
			base = filepath.Dir(full)
		}
		for {
			if _, is := languages.Below(base, full); is {
				break
			}
			base = filepath.Dir(base)
		}
	}
	return base, nil
}

// addHeaders adds the headers that the files include and that lie below base. The compiler
// knows which they are; without one, or where it refuses a file, there are none.
func (d *dialect) addHeaders(t languages.Target, base string, files []string, contents map[string][]byte) error {
	ctx := context.Background()
	a, err := d.parseArguments(t)
	if err != nil {
		return err
	}
	for _, file := range files {
		of := dialectOf(file)
		compiler, err := of.findCompiler(ctx, d.asked(t, of))
		if err != nil {
			return err
		}
		rule, err := compiler.run(ctx, append(without(a.flags(of), linking), "-MM", file)...)
		if err != nil {
			return languages.Refuse(1, "the compiler refuses the program:\n%s", reason(rule, err))
		}
		_, names, _ := strings.Cut(string(rule), ":")
		for _, name := range strings.Fields(strings.ReplaceAll(names, "\\\n", " ")) {
			full, err := filepath.Abs(name)
			if err != nil {
				return err
			}
			rel, is := languages.Below(base, full)
			if _, there := contents[rel]; !is || there {
				continue
			}
			if contents[rel], err = os.ReadFile(full); err != nil {
				return err
			}
		}
	}
	return nil
}

// recorders are the files with which the target's record their checkpoints: what their first
// lines include says where they are.
func recorders(files []string) (more []string) {
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			continue // the compiler says so
		}
		line, _, _ := bytes.Cut(source, []byte("\n"))
		header, is := strings.CutPrefix(string(line), `#include "`)
		header, whole := strings.CutSuffix(header, aloneHeader+`"`)
		if name := filepath.Join(filepath.Dir(file), header, aloneFile); is && whole &&
			!slices.Contains(more, name) && !slices.Contains(files, name) {
			more = append(more, name)
		}
	}
	return more
}
