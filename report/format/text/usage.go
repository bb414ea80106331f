package text

import (
	"io"

	"cg/report/format"
	"cg/report/usage"
)

// writeUsage writes a summary as cg monitor shows it.
func writeUsage(w io.Writer, d *usage.Document, o format.Options) error {
	_, err := io.WriteString(w, string(d.Text(o.Rows(1<<30))))
	return err
}
