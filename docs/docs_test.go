package docs

import (
	"regexp"
	"strings"
	"testing"
)

// Every warning has its advice, and no more than its own.
func TestAdvice(t *testing.T) {
	slugs := regexp.MustCompile(`(?m)^### ([a-z-]+)$`).FindAllStringSubmatch(messages, -1)
	if len(slugs) < 10 {
		t.Fatalf("only %d warnings", len(slugs))
	}
	for _, m := range slugs {
		a := Advice(m[1])
		if len(a) < 40 || !strings.HasSuffix(a, ".") || strings.Contains(a, "#") {
			t.Errorf("%s: %q", m[1], a)
		}
	}
	for _, none := range []string{"", "none", "estimate", "Exit status"} {
		if a := Advice(none); a != "" {
			t.Errorf("%q: %q", none, a)
		}
	}
}
