// Package frame makes the pages of documents for a browser: one file each, that needs no
// network, with its style, its script and its data.
//
// A page has a body of its own, as a template, and shares everything else. Its
// Content-Security-Policy forbids the browser to load or send anything. What comes from
// documents is put into the page as text, or as data for the script: nothing in it means
// anything to HTML.
package frame

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"sync"

	"cg/shown"
)

//go:embed frame.html
var whole string

// Style is that of pages with tables and pictures. Colours are variables: ink, soft, line,
// paper and card.
//
//go:embed frame.css
var Style string

// Body is a part of a page: it is parsed when a page is written first.
type Body func() (*template.Template, error)

// New makes a body of a template (html/template), which is given Page.Body.
func New(body string) Body {
	return sync.OnceValues(func() (*template.Template, error) {
		t, err := template.New("frame").Parse(whole)
		if err != nil {
			return nil, err
		}
		_, err = t.New("body").Parse(body)
		return t, err
	})
}

// Page is what is in a page.
type Page struct {
	Title, Version string // of the document, and of the cg that wrote it
	Style, Script  string // of the page; a page without a script forbids all of them
	Worker         bool   // whether the script makes workers of texts in it
	// Data is JSON for the script, made by JSON.
	Data []byte
	// Block is bytes for the script, which are many: they stand in the page compressed, as
	// base64 of gzip.
	Block []byte
	// Body is what the body's template is given.
	Body any
}

// Write writes a page.
func (b Body) Write(w io.Writer, p Page) error {
	t, err := b()
	if err != nil {
		return err
	}
	policy := "default-src 'none'; "
	if p.Script != "" {
		policy += "script-src '" + digest(p.Script) + "'; "
	}
	if p.Worker {
		policy += "worker-src blob:; "
	}
	block, err := packed(p.Block)
	if err != nil {
		return err
	}
	return t.Execute(w, map[string]any{
		"Block":  block,
		"Policy": policy + "style-src '" + digest(p.Style) + "'; img-src data:; base-uri 'none'; form-action 'none'",
		"Title":  shown.Line(p.Title), "Version": shown.Line(p.Version), "Style": template.CSS(p.Style),
		"Script": template.JS(p.Script), "Data": template.JS(p.Data), "Body": p.Body,
	})
}

// packed is base64 of bytes, compressed. No letter of it means anything to HTML.
func packed(block []byte) (template.HTML, error) {
	if len(block) == 0 {
		return "", nil
	}
	var out bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &out)
	z := gzip.NewWriter(text)
	if _, err := z.Write(block); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	err := text.Close()
	return template.HTML(out.String()), err
}

// digest names an inline script or style to a Content-Security-Policy
// (www.w3.org/TR/CSP3).
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// JSON is a value as JSON in which no character means anything to HTML: <, > and & are
// written as \u003c, \u003e and \u0026, and so is what a terminal would obey.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(true)
	err := e.Encode(v)
	return shown.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}
