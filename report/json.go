package report

import (
	"bytes"
	"encoding/json"
	"io"

	"cg/report/format"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "json", JSON: true, Title: "the run as cg saves it", Endings: []string{".json"},
		Read:    func(f io.ReadSeeker) (format.Document, error) { return ReadFrom(f) },
		Writers: []format.Writer{jsonOf[*Run](), jsonOf[*Repeated](), jsonOf[*Comparison](), jsonOf[*Gate]()},
	})
}

// indented encodes a document as it is saved.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return shown.JSON(b.Bytes()), err
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
