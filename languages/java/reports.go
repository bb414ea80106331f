package java

import (
	"encoding/xml"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/languages"
)

// testReports are the folders in which Surefire, Failsafe and Gradle report
// tests, in the form of JUnit's XML.
var testReports = []string{"target/surefire-reports", "target/failsafe-reports", "build/test-results"}

// eachReportFolder calls f with the folders of test reports below the mirror.
func (p *project) eachReportFolder(f func(folder string)) {
	filepath.WalkDir(p.mirror.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		for _, r := range testReports {
			if strings.HasSuffix(path, "/"+r) {
				f(path)
				return fs.SkipDir
			}
		}
		if name := d.Name(); name == "classes" || name == "node_modules" || name == "src" {
			return fs.SkipDir
		}
		return nil
	})
}

// clearReports removes the reports of earlier builds: what is there afterwards
// is of this one, and a build that has them for up to date runs its tests.
func (p *project) clearReports() {
	p.eachReportFolder(func(folder string) {
		if rel, err := filepath.Rel(p.mirror.folder, folder); err == nil && p.mirror.Seen[rel] == nil {
			removeAll(folder)
		}
	})
}

// testCase is what a report says of a test.
type testCase struct {
	Class   string    `xml:"classname,attr"`
	Name    string    `xml:"name,attr"`
	Failure *struct{} `xml:"failure"`
	Error   *struct{} `xml:"error"`
	Skipped *struct{} `xml:"skipped"`
}

// testStatuses are from the best to the worst.
var testStatuses = []string{"skipped", "passed", "failed", "error"}

func (c testCase) status() string {
	switch {
	case c.Error != nil:
		return "error"
	case c.Failure != nil:
		return "failed"
	case c.Skipped != nil:
		return "skipped"
	}
	return "passed"
}

// method is the name of the test's method: what stands before parameters, and
// before the number of a repetition.
func (c testCase) method() string {
	if i := strings.IndexAny(c.Name, "([{ "); i >= 0 {
		return c.Name[:i]
	}
	return c.Name
}

// testResults is Command.Tests. A method that a class inherits is the test of the
// class that declares it.
func (p *project) testResults(tasks []string) map[string]languages.Test {
	byName, byMethod := map[string][]string{}, map[string][]string{}
	for _, task := range tasks {
		bare := parameterTypes().ReplaceAllString(task, "")
		byName[bare] = append(byName[bare], task)
		method := bare[strings.LastIndexByte(bare, '.')+1:]
		byMethod[method] = append(byMethod[method], task)
	}
	out := map[string]languages.Test{}
	p.eachReportFolder(func(folder string) {
		filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "TEST-") || filepath.Ext(path) != ".xml" {
				return nil
			}
			for _, c := range testCases(path) {
				found := byName[strings.ReplaceAll(c.Class, "$", ".")+"."+c.method()]
				if len(found) == 0 {
					if found = byMethod[c.method()]; len(found) != 1 {
						continue
					}
				}
				for _, task := range found {
					t := out[task]
					t.Runs++
					if s := c.status(); slices.Index(testStatuses, s) > slices.Index(testStatuses, t.Status) {
						t.Status = s
					}
					out[task] = t
				}
			}
			return nil
		})
	})
	return out
}

// testCases reads a report; of one that is cut off, what is whole in it.
func testCases(path string) []testCase {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var cases []testCase
	d := xml.NewDecoder(f)
	for {
		token, err := d.Token()
		if err != nil {
			return cases
		}
		if e, is := token.(xml.StartElement); is && e.Name.Local == "testcase" {
			var c testCase
			if d.DecodeElement(&c, &e) != nil {
				return cases
			}
			cases = append(cases, c)
		}
	}
}
