package python

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/ianaindex"

	"cg/pattern"
)

// cookiePattern is the encoding declaration of PEP 263.
var cookiePattern = pattern.Later(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)

// decode turns a source file into UTF-8, as its byte order mark or its
// encoding declaration says (docs.python.org/3/reference/lexical_analysis.html,
// encoding declarations). The declaration in the text then says utf-8.
func decode(source []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(source, []byte("\xef\xbb\xbf")); ok {
		return checkUTF8(rest)
	}
	at := 0
	for range 2 {
		end := bytes.IndexByte(source[at:], '\n')
		if end < 0 {
			end = len(source) - at
		}
		line := source[at : at+end]
		if m := cookiePattern().FindSubmatchIndex(line); m != nil {
			given := strings.ToLower(string(line[m[2]:m[3]]))
			name := strings.ReplaceAll(given, "_", "-")
			if name == "utf-8" || strings.HasPrefix(name, "utf-8-") || name == "utf8" {
				return checkUTF8(source)
			}
			enc, err := ianaindex.IANA.Encoding(ianaName(name))
			if err != nil {
				enc, err = ianaindex.IANA.Encoding(given)
			}
			if err != nil || enc == nil {
				return nil, fmt.Errorf("encoding %q is not known", name)
			}
			text, err := enc.NewDecoder().Bytes(source)
			if err != nil {
				return nil, fmt.Errorf("not text in the declared encoding %s: %w", name, err)
			}
			return bytes.Replace(text, line[m[2]:m[3]], []byte("utf-8"), 1), nil
		}
		if s := bytes.TrimLeft(line, " \t\f\r"); len(s) > 0 && s[0] != '#' {
			break
		}
		at = min(at+end+1, len(source))
	}
	return checkUTF8(source)
}

// ianaName turns Python's name of an encoding into the registered one
// (docs.python.org/3/library/codecs.html, standard encodings).
func ianaName(name string) string {
	switch number, isPage := strings.CutPrefix(name, "cp"); {
	case name == "latin-1" || name == "latin1" || name == "l1":
		return "iso-8859-1"
	case strings.HasPrefix(name, "iso8859"):
		return "iso-8859" + name[len("iso8859"):]
	case isPage && strings.HasPrefix(number, "125"):
		return "windows-" + number
	case isPage:
		return "ibm" + number
	case name == "mac-roman":
		return "macintosh"
	}
	return name
}

func checkUTF8(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8, and no encoding is declared")
	}
	return text, nil
}
