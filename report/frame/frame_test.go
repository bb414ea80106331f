package frame_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"cg/report/frame"
)

// A page loads nothing, and what it is given cannot become HTML or a script.
func TestWrite(t *testing.T) {
	body := frame.New(`<main><h1>{{.}}</h1></main>`)
	evil := `</script><b onload=x>`
	data, err := frame.JSON(map[string]string{"name": evil})
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"", "draw();"} {
		p := frame.Page{Title: evil, Version: evil, Style: frame.Style, Script: script, Body: evil}
		if script != "" {
			p.Data = data
		}
		var b bytes.Buffer
		if err := body.Write(&b, p); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Contains(text, "<b onload") || strings.Contains(text, evil) {
			t.Errorf("HTML of the document's:\n%s", text)
		}
		policy := regexp.MustCompile(`content="(default-src 'none'; [^"]*)"`).FindStringSubmatch(strings.ReplaceAll(text, "&#39;", "'"))
		if policy == nil || strings.Contains(policy[1], "script-src") != (script != "") || !strings.Contains(policy[1], "style-src 'sha256-") {
			t.Errorf("policy %q", policy)
		}
		if n := strings.Count(text, "<script"); script == "" && n != 0 || script != "" && n != 2 {
			t.Errorf("%d scripts", n)
		}
	}
}
