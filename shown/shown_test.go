package shown

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// hostile is what each of the dangers looks like.
var hostile = []string{
	"a\x1b[2Jb", "\x1b]0;owned\x07", "\x1b]8;;http://e\x1b\\", "\u009b31m", "\x9b31m", "x\x7f",
	"row\nfake  1 J", "back\rover", "\b\b\b", "tab\tcell", "\u202efdp.exe", "\u2066a\u2069", "a\u2028b\u2029c", "\u200b", "\ufeff",
	"\U000e0041", "\u061c",
	"\xff\xfe", "a\x00b", "soft\u00adhyphen",
}

func TestLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"shop.stock.prüfsumme", "shop.stock.prüfsumme"}, {"函数 é", "函数 é"}, {`C:\dir`, `C:\dir`}, {"", ""},
		{"a\u200db\u200cc", "a\u200db\u200cc"},
		{"\u0600\u0661", "\u0600\u0661"},
		{"\x1b[31mred", `\x1b[31mred`}, {"a\nb\tc\rd", `a\nb\tc\rd`},
		{"\u009b1m", `\u009b1m`}, {"\x9b1m", `\x9b1m`}, {"\u202eabc", `\u202eabc`},
		{"\x00\x07\x7f", `\x00\a\x7f`}, {"\U000e0041", `\U000e0041`}, {"\ufeffx", `\ufeffx`}, {"�", "�"},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if got, want := Lines("a\x1b\n\tb\r\nc\rd"), "a\\x1b\n\tb\nc\\rd"; got != want {
		t.Errorf("Lines: %q, want %q", got, want)
	}
}

// What is not of type Safe is escaped, whatever it is and however it is formatted.
func TestSprintf(t *testing.T) {
	type kind string
	evil := "e\x1b[1m\n"
	for _, c := range []struct {
		format string
		args   []any
		want   string
	}{
		{"%s\n", []any{evil}, "e\\x1b[1m\\n\n"},
		{"%v|%v", []any{kind(evil), errors.New(evil)}, `e\x1b[1m\n|e\x1b[1m\n`},
		{"%v", []any{[]string{evil}}, `[e\x1b[1m\n]`},
		{"%q", []any{`a"` + evil}, `"a\"e\x1b[1m\n"`},
		{"%-12s|%12s|%.2s", []any{"a\n", "b", "xyz"}, `a\n         |           b|xy`},
		{"%*d %5.1f %+d %x", []any{4, 7, 2.25, 3, 255}, "   7   2.2 +3 ff"},
		{"%s", []any{Safe("\x1b[1mb\x1b[0m\n")}, "\x1b[1mb\x1b[0m\n"},
		{"%v %v %v", []any{nil, true, 1500 * time.Millisecond}, "<nil> true 1.5s"},
		{"%v", []any{struct{ S string }{evil}}, `{e\x1b[1m\n}`},
	} {
		if got := Sprintf(c.format, c.args...); got != c.want {
			t.Errorf("Sprintf(%q, %q) = %q, want %q", c.format, c.args, got, c.want)
		}
	}
}

func TestCell(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"main", "main"}, {"", ""}, {"-1.5", "-1.5"}, {"+2e3", "+2e3"},
		{"-Inf", "'-Inf"}, {"-nan", "'-nan"}, {"-", "'-"}, {"=1+1", "'=1+1"},
		{"+a", "'+a"}, {"-a", "'-a"}, {"@SUM(A1)", "'@SUM(A1)"},
		{"\t=1", `'\t=1`}, {"\r=1", `'\r=1`}, {"\n=1", `'\n=1`},
		{" =1", " '=1"}, {"＝1", "'＝1"}, {"a;=1;b", "a;'=1;b"}, {"a=b", "a=b"},
		{"x\x1b[m", `x\x1b[m`},
		{"operator-", "operator-"}, {"'=1", "'=1"},
	} {
		if got := Cell(c.in); got != c.want {
			t.Errorf("Cell(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// printed reports what a terminal would not print in s.
func printed(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%q is no UTF-8", s)
	}
	for _, r := range s {
		unseen := unicode.Is(unicode.Cf, r) && r != 0x200c && r != 0x200d &&
			!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
		if unseen || unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("%q has %U", s, r)
		}
	}
	return nil
}

// Whatever goes in, what comes out is printed as it stands, is not escaped again,
// and is what went in where that is safe; JSON keeps its meaning.
func FuzzShown(f *testing.F) {
	for _, s := range append(hostile, "plain", "=1", ";@x", `"quoted"`, `back\slash`) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, of := range map[string]func(string) string{
			"Line": Line, "Cell": Cell,
			"Sprintf":  func(s string) string { return Sprintf("%s", s) },
			"%q":       func(s string) string { return Sprintf("%q", s) },
			"an error": func(s string) string { return Sprintf("%-9v", errors.New(s)) },
			"Lines":    func(s string) string { return strings.NewReplacer("\n", "", "\t", "").Replace(Lines(s)) },
		} {
			if err := printed(of(s)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if once := Line(s); Line(once) != once || Lines(once) != once {
			t.Errorf("Line(%q) is escaped again", s)
		}
		if printed(s) == nil && Line(s) != s {
			t.Errorf("Line(%q) = %q", s, Line(s))
		}
		if once := Cell(s); Cell(once) != once {
			t.Errorf("Cell(%q) = %q, and of that %q", s, once, Cell(once))
		}
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(Cell(s), " "))
		if strings.ContainsRune("=+-@＝＋－＠", first) && s != "" {
			if _, err := strconv.ParseFloat(s, 64); err != nil {
				t.Errorf("Cell(%q) = %q begins like a formula", s, Cell(s))
			}
		}
		b, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		if err := printed(string(JSON(b))); err != nil {
			t.Errorf("JSON: %v", err)
		}
		var before, after any
		if json.Unmarshal(b, &before) != nil || json.Unmarshal(JSON(b), &after) != nil ||
			fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("JSON(%s) = %s", b, JSON(b))
		}
		for size := 1; size < 4; size++ {
			var out bytes.Buffer
			w := JSONWriter(&out)
			for piece := range slices.Chunk(b, size) {
				w.Write(piece)
			}
			if !bytes.Equal(out.Bytes(), JSON(b)) {
				t.Errorf("in pieces of %d: %s, want %s", size, out.Bytes(), JSON(b))
			}
		}
	})
}

func TestOrUnknown(t *testing.T) {
	for s, want := range map[string]string{"": "?", "?": "?", "a": "a", " ": " "} {
		if got := OrUnknown(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
