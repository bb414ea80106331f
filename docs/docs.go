// Package docs embeds the documents that cg itself quotes: the advice of each warning,
// and the schema of session files.
package docs

import (
	_ "embed"
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
	return strings.Join(strings.Fields(text), " ")
}
