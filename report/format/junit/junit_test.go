package junit

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cg/report/compare"
	"cg/report/format"
	"cg/report/reporttest"
	"cg/report/verdict"
)

func TestComparisons(t *testing.T) {
	for _, name := range []string{"several", "single", "different", "hostile", "zero", "unknown", "repeated"} {
		b := reporttest.Write(t, "junit", reporttest.Saved[compare.Result](t, "compare-"+name), format.Options{})
		if err := checkJUnit(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		reporttest.Golden(t, filepath.Join("testdata", "compare-"+name+".xml"), b)
	}
}

func TestGate(t *testing.T) {
	b := reporttest.Write(t, "junit", reporttest.Saved[verdict.Check](t, "gate"), format.Options{})
	reporttest.Golden(t, "testdata/gate.junit.xml", b)
	var suites suitesElement
	if err := xml.Unmarshal(b, &suites); err != nil {
		t.Error(err)
	}
	s := suites.Suite
	if s.Tests != 6 || s.Failures != 3 || s.Skipped != 1 || len(s.Cases) != s.Tests {
		t.Errorf("%+v", s)
	}
}

// checkJUnit holds a text against what Jenkins' schema allows
// (jenkinsci/xunit-plugin, junit-10.xsd): elements, where they may stand, their
// attributes, and which of these there have to be.
func checkJUnit(b []byte) error {
	reason := element{attributes: "type message"}
	text := element{}
	allowed := map[string]element{
		"":           {children: "testsuites"},
		"testsuites": {"name time tests failures errors", "", "testsuite"},
		"testsuite": {"name tests failures errors group time skipped timestamp hostname id package file log url",
			"name tests failures errors", "testsuite properties testcase system-out system-err"},
		"properties": {children: "property"}, "property": {attributes: "name value", required: "name value"},
		"testcase": {"name time classname group", "name", "skipped error failure system-out system-err"},
		"skipped":  reason, "error": reason, "failure": reason, "system-out": text, "system-err": text,
	}
	d := xml.NewDecoder(bytes.NewReader(b))
	stack := []string{""}
	seen := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			if !slices.Contains(strings.Fields(allowed[stack[len(stack)-1]].children), name) {
				return fmt.Errorf("%s in %q", name, stack[len(stack)-1])
			}
			var has []string
			for _, a := range e.Attr {
				has = append(has, a.Name.Local)
				if !slices.Contains(strings.Fields(allowed[name].attributes), a.Name.Local) {
					return fmt.Errorf("%s has %s", name, a.Name.Local)
				}
				if _, err := strconv.ParseFloat(a.Value, 64); a.Name.Local == "time" && err != nil {
					return err
				}
			}
			for _, r := range strings.Fields(allowed[name].required) {
				if !slices.Contains(has, r) {
					return fmt.Errorf("%s lacks %s", name, r)
				}
			}
			seen[name]++
			stack = append(stack, name)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
	var totals struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Skipped  int `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b, &totals); err != nil {
		return err
	}
	s := totals.Suite
	if s.Tests != seen["testcase"] || s.Failures != seen["failure"] || s.Errors != seen["error"] ||
		s.Skipped != seen["skipped"] || s.Tests == 0 {
		return fmt.Errorf("counts %+v, and there are %v", s, seen)
	}
	return nil
}

type element struct{ attributes, required, children string }

// The check itself finds what Jenkins would refuse.
func TestCheckJUnit(t *testing.T) {
	good := `<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="b"/></testsuite></testsuites>`
	if err := checkJUnit([]byte(good)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		strings.Replace(good, ` tests="1"`, "", 1), strings.Replace(good, `tests="1"`, `tests="2"`, 1),
		strings.Replace(good, `name="b"`, `name="b" line="3"`, 1),
		strings.Replace(good, "<testcase", "<failure/><testcase", 1),
		strings.Replace(good, `name="b"`, `name="b" time="soon"`, 1), good[:50],
	} {
		if checkJUnit([]byte(bad)) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
