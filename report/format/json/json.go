// Package json writes documents as cg saves them, and reads them again.
package json

import (
	"io"

	"cg/report"
	"cg/report/advice"
	"cg/report/bisection"
	"cg/report/cluster"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/report/repeated"
	"cg/report/trend"
	"cg/report/usage"
	"cg/report/verdict"
)

func init() {
	format.Register(format.Format{
		Name: "json", JSON: true, Title: "the run as cg saves it", Endings: []string{".json"},
		Read: read,
		Writers: []format.Writer{jsonOf[*report.Run](), jsonOf[*repeated.Result](), jsonOf[*compare.Result](),
			jsonOf[*verdict.Check](), format.Writes(iotrace.WriteJSON), jsonOf[*cluster.Run](),
			jsonOf[*usage.Document](), jsonOf[*trend.Trend](), jsonOf[*bisection.Result](),
			jsonOf[*advice.Document]()},
	})
}

// read reads a run, of one rank or of many, repeated runs, a check of a change, a
// comparison, a summary of cg monitor, a trend over commits, a bisection, or advice.
func read(f io.ReadSeeker) (format.Document, error) {
	if usage.IsSaved(f) {
		return usage.Read(f)
	}
	if advice.IsSaved(f) {
		return advice.Read(f)
	}
	if bisection.IsSaved(f) {
		return bisection.Read(f)
	}
	if trend.IsSaved(f) {
		return trend.ReadFrom(f)
	}
	head, err := report.HeadOf(f)
	switch {
	case err != nil: // which ReadFrom tells
	case head.Holds["comparison"]:
		return compare.Read(f)
	case head.Holds["command"] && verdict.IsSaved(f):
		return verdict.ReadFrom(f)
	case head.Holds["command"] || head.Holds["measurements"]:
		return repeated.Read(f)
	}
	if cluster.IsSaved(f) {
		return cluster.Read(f)
	}
	return report.ReadFrom(f)
}

// saved is a document that has a form of its own to be saved in.
type saved interface {
	format.Document
	JSON() ([]byte, error)
}

func jsonOf[D saved]() format.Writer {
	return format.Writes(func(w io.Writer, d D, _ format.Options) error {
		b, err := d.JSON()
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	})
}
