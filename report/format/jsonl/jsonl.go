// Package jsonl registers lines of JSON, one for each reading of cg track.
package jsonl

import (
	"cg/report/format"
	"cg/report/iotrace"
	"cg/track"
)

func init() {
	format.Register(format.Format{
		Name: "jsonl", Title: "an object for each reading of cg track, or each record of a trace of Recorder",
		Endings: []string{".jsonl"},
		Writers: []format.Writer{format.Follows(track.Recording{}, track.JSONLines),
			format.Writes(iotrace.WriteLines)},
	})
}
