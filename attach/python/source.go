package python

import "strings"

// withoutTexts is a source with blanks in place of the characters of string literals and
// comments, so that what stands in them is no definition. Lines stay.
func withoutTexts(source string) string {
	out := []byte(source)
	quote := ""
	for i := 0; i < len(out); {
		rest := source[i:]
		switch {
		case quote != "" && strings.HasPrefix(rest, quote):
			i += len(quote)
			quote = ""
		case quote != "":
			if out[i] == '\\' && i+1 < len(out) {
				i = blank(out, i)
			}
			if len(quote) == 1 && i < len(out) && out[i] == '\n' { // no literal: another language's text
				quote = ""
			}
			i = blank(out, i)
		case rest[0] == '#':
			for i < len(out) && out[i] != '\n' {
				i = blank(out, i)
			}
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
			quote = rest[:3]
			i += 3
		case rest[0] == '"', rest[0] == '\'':
			quote = rest[:1]
			i++
		default:
			i++
		}
	}
	return string(out)
}

// blank blanks a byte, but no end of a line.
func blank(out []byte, i int) int {
	if out[i] != '\n' {
		out[i] = ' '
	}
	return i + 1
}
