// Package junit writes what was judged as tests of a continuous integration: one for each figure.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"cg/report/format"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "junit", Title: "tests of a continuous integration: one for each figure that is judged",
		Endings: []string{".xml"},
		Writers: []format.Writer{format.Writes(writeComparison), format.Writes(writeGate)},
	})
}

// suite is a set of checks as JUnit XML tells it: what Jenkins, GitLab and the
// like show as tests.
type suite struct {
	Name     string
	At       time.Time
	Hostname string
	// Properties are pairs of a name and a value, in their order.
	Properties [][2]string
	Cases      []testCase
}

// testCase is a check. One without a state has passed.
type testCase struct {
	Class, Name string
	State       state
	Message     string // in a line
	Text        string // as long as it takes
	Time        time.Duration
}

// state is what a check came to.
type state string

const (
	passed  state = ""
	failed  state = "failure" // what was checked is not so
	errored state = "error"   // it could not be checked
	skipped state = "skipped"
)

// Elements as Jenkins' schema has them (jenkinsci/xunit-plugin, junit-10.xsd).
type (
	suitesElement struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suite    suiteElement `xml:"testsuite"`
	}
	suiteElement struct {
		Name       string            `xml:"name,attr"`
		Tests      int               `xml:"tests,attr"`
		Failures   int               `xml:"failures,attr"`
		Errors     int               `xml:"errors,attr"`
		Skipped    int               `xml:"skipped,attr"`
		Time       string            `xml:"time,attr"`
		Timestamp  string            `xml:"timestamp,attr,omitempty"`
		Hostname   string            `xml:"hostname,attr,omitempty"`
		Properties []propertyElement `xml:"properties>property"`
		Cases      []caseElement     `xml:"testcase"`
	}
	propertyElement struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	caseElement struct {
		Class   string         `xml:"classname,attr"`
		Name    string         `xml:"name,attr"`
		Time    string         `xml:"time,attr"`
		Skipped *reasonElement `xml:"skipped"`
		Error   *reasonElement `xml:"error"`
		Failure *reasonElement `xml:"failure"`
		Out     string         `xml:"system-out,omitempty"`
	}
	reasonElement struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeSuite writes a suite as JUnit XML. Control characters, which XML does not
// have, are escaped (shown).
func writeSuite(w io.Writer, s suite) error {
	out := suiteElement{Name: shown.Line(s.Name), Tests: len(s.Cases), Hostname: shown.Line(s.Hostname)}
	if !s.At.IsZero() {
		out.Timestamp = s.At.UTC().Format("2006-01-02T15:04:05")
	}
	for _, p := range s.Properties {
		out.Properties = append(out.Properties, propertyElement{shown.Line(p[0]), shown.Line(p[1])})
	}
	whole := time.Duration(0)
	for _, c := range s.Cases {
		c.Message, c.Text = shown.Line(c.Message), shown.Lines(c.Text)
		one := caseElement{Class: shown.Line(c.Class), Name: shown.Line(c.Name),
			Time: fmt.Sprintf("%.3f", c.Time.Seconds())}
		reason := &reasonElement{Type: string(c.State), Message: c.Message, Text: c.Text}
		switch c.State {
		case failed:
			one.Failure = reason
			out.Failures++
		case errored:
			one.Error = reason
			out.Errors++
		case skipped:
			one.Skipped = reason
			out.Skipped++
		default:
			one.Out = strings.TrimSpace(c.Message + "\n" + c.Text)
		}
		whole += c.Time
		out.Cases = append(out.Cases, one)
	}
	out.Time = fmt.Sprintf("%.3f", whole.Seconds())
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suitesElement{Name: out.Name, Tests: out.Tests, Failures: out.Failures, Errors: out.Errors,
		Suite: out}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
