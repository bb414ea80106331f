// Package shown makes text that cg did not write safe to print: names of sensors and
// functions, paths, arguments, messages from files.
//
// A terminal obeys escape sequences (ECMA-48) and reorders letters where Unicode's
// bidirectional controls say so. A line end makes a new row of a table, and a spreadsheet
// computes a cell that begins like a formula. The package takes any bytes and returns
// UTF-8 that is printed as it is. Everything that cg writes to a terminal passes through
// Fprintf or Sprintf, or Line and Lines; a table for spreadsheets through Cell; JSON
// through JSON. Safe text is returned unchanged, so nothing is escaped twice.
package shown

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe is text that cg laid out itself, of parts that are safe: lines and colours
// in it stay.
type Safe string

// Line is s in one line, with everything that is not printed as an escape of Go's:
// \n, \x1b, \u009b, \u202e. A byte that is no UTF-8 is \xNN, too.
func Line(s string) string {
	at := strings.IndexFunc(s, obeyed)
	if at < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case obeyed(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// OrUnknown is s, or "?" where there is none: that is how what is not known is shown.
func OrUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// Lines is s with the line ends and tabs that are in it, and each line as Line has
// it.
func Lines(s string) string {
	if strings.IndexFunc(s, obeyed) < 0 && utf8.ValidString(s) {
		return s
	}
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for k := range cells {
			cells[k] = Line(cells[k])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// obeyed reports whether a terminal does something else with a character than to
// print it: control characters (C0, DEL, C1), line and paragraph separators, and
// format characters, which turn the text around or are not seen; but the joiners
// are part of words and of emoji, and signs before numbers are printed.
func obeyed(r rune) bool {
	switch {
	case r < 0x7f:
		return r < 0x20
	case r == '\u200c', r == '\u200d':
		return false
	case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
		return true
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Sprintf is that of fmt with each argument as Line has it, but for what is Safe.
// Line ends and tabs of the format stay.
func Sprintf(format string, args ...any) string {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = argument(a)
	}
	return fmt.Sprintf(format, safe...)
}

// Fprintf writes what Sprintf gives.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return io.WriteString(w, Sprintf(format, args...))
}

// argument is a safe one in the place of a.
func argument(a any) any {
	switch a := a.(type) {
	case nil:
		return a
	case Safe:
		return string(a)
	case string:
		return text(Line(a))
	case error, fmt.Stringer:
		return text(Line(fmt.Sprint(a)))
	}
	switch v := reflect.ValueOf(a); v.Kind() {
	case reflect.String:
		return text(Line(v.String()))
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint,
		reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64:
		return a
	}
	return text(Line(fmt.Sprint(a)))
}

// text is a safe text. %q does not escape it again.
type text string

func (t text) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprintf(f, fmt.FormatString(f, 's'), `"`+strings.ReplaceAll(string(t), `"`, `\"`)+`"`)
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), string(t))
}

// JSON is a text of JSON with the characters that a terminal obeys as JSON's own
// escapes: what it says is the same. Spaces between values stay.
func JSON(b []byte) []byte {
	var out []byte
	from := 0
	for at := 0; at < len(b); {
		if b[at] < 0x7f {
			at++
			continue
		}
		r, n := utf8.DecodeRune(b[at:])
		if obeyed(r) {
			out = append(out, b[from:at]...)
			if r > 0xffff {
				out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = at + n
		}
		at += n
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

// JSONWriter writes what JSON gives of what is written to it, in pieces of any
// size.
func JSONWriter(w io.Writer) io.Writer { return &jsonWriter{to: w} }

type jsonWriter struct {
	to   io.Writer
	held []byte // the beginning of a character
}

func (w *jsonWriter) Write(b []byte) (int, error) {
	whole := b
	if len(w.held) > 0 {
		whole = append(w.held, b...)
	}
	end := len(whole)
	for n := 1; n < utf8.UTFMax && n <= end; n++ {
		if utf8.RuneStart(whole[end-n]) {
			if !utf8.FullRune(whole[end-n:]) {
				end -= n
			}
			break
		}
	}
	w.held = slices.Clone(whole[end:])
	if _, err := w.to.Write(JSON(whole[:end])); err != nil {
		return 0, err
	}
	return len(b), nil
}

// formula are the first characters of what a spreadsheet computes, the full-width
// ones, too (OWASP, "CSV Injection",
// owasp.org/www-community/attacks/CSV_Injection).
const formula = "=+-@\t\r\n＝＋－＠"

// Cell is a text for a cell of CSV, as Line has it. A text that a spreadsheet
// would run gets an apostrophe in front, and so does what it would run where it
// takes semicolons to separate cells. A text that is a number stays one. Quoting
// (RFC 4180) is left to who writes the table.
func Cell(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "+-.0123456789eE") == "" {
		return s
	}
	parts := strings.Split(s, ";")
	for i, p := range parts {
		inner := strings.TrimLeft(p, " ")
		if r, _ := utf8.DecodeRuneInString(inner); inner != "" && strings.ContainsRune(formula, r) {
			parts[i] = p[:len(p)-len(inner)] + "'" + inner
		}
	}
	return Line(strings.Join(parts, ";"))
}
