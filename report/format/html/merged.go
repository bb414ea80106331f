package html

import (
	"bytes"
	"io"

	"cg/report/format"
	"cg/track/merge"
)

// writeMerged writes the page of merged logs of cg track: their power over time, and the figures of each.
func writeMerged(w io.Writer, l *merge.Logs, _ format.Options) error {
	picture, err := format.Named("svg", l)
	if err != nil {
		return err
	}
	var svg bytes.Buffer
	if err := picture.Write(&svg, l, format.Options{}); err != nil {
		return err
	}
	head, rows := l.Figures()
	return sheet{title: l.Title(), version: l.CgVersion, lead: l.Lead(), picture: svg.Bytes(),
		pictured: "The power of each log and of all over time",
		tables:   []table{{Columns: head, Rows: rows}}}.write(w)
}
