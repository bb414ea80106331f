// Package docs embeds the documents that cg itself quotes: the advice of each warning,
// and the schema of session files.
package docs

import (
	_ "embed"
	"path"
	"strings"
)

//go:embed messages.md
var messages string

// SessionSchema is the JSON Schema of what sessions write, and of what reports
// have in common with that.
//
//go:embed session.schema.json
var SessionSchema []byte

// StreamSchema is the JSON Schema of a stream of events, as HESPAS reads and writes it.
//
//go:embed hespas.schema.json
var StreamSchema []byte

// Advice is what messages.md says about a warning, in one paragraph; "" for
// one that it does not know.
func Advice(slug string) string {
	_, text, found := strings.Cut(messages, "\n### "+slug+"\n")
	if !found {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n#")
	return unlinked(strings.Join(strings.Fields(text), " "))
}

// unlinked writes links of Markdown for people who read text: a document by its place below cg's folder, or another
// address, behind the words.
func unlinked(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "](")
		words := strings.LastIndexByte(before, '[')
		target, after, closed := strings.Cut(rest, ")")
		if !found || words < 0 || !closed {
			return out.String() + text
		}
		of := target
		if !strings.Contains(target, "://") && !strings.HasPrefix(target, "#") {
			of = path.Join("docs", target)
		}
		out.WriteString(before[:words])
		switch file, _, _ := strings.Cut(target, "#"); {
		case before[words+1:] == file:
			out.WriteString(of)
		case strings.HasPrefix(target, "#"):
			out.WriteString(before[words+1:])
		default:
			out.WriteString(before[words+1:] + " (" + of + ")")
		}
		text = after
	}
}

// Warnings are the slugs of all warnings that messages.md tells about.
func Warnings() (slugs []string) {
	for _, part := range strings.Split(messages, "\n### ")[1:] {
		slug, _, _ := strings.Cut(part, "\n")
		slugs = append(slugs, slug)
	}
	return slugs
}

// Statuses are the rows of the table of exit statuses: the status, and what it means.
func Statuses() (rows [][2]string) {
	_, text, _ := strings.Cut(messages, "\n## Exit status\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) == 2 && !strings.HasPrefix(line, "|---") && cells[0] != "status" {
			rows = append(rows, [2]string{cells[0], strings.ReplaceAll(cells[1], "`", "")})
		}
	}
	return rows
}
