// Package jsonl registers lines of JSON, one for each reading of cg track.
package jsonl

import (
	"cg/report/format"
	"cg/track"
)

func init() {
	format.Register(format.Format{
		Name: "jsonl", Title: "an object for each reading of cg track", Endings: []string{".jsonl"},
		Writers: []format.Writer{format.Follows(track.Recording{}, track.JSONLines)},
	})
}
