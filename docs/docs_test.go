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

func TestUnlinked(t *testing.T) {
	for text, want := range map[string]string{
		"see [gpu.md](gpu.md).":                         "see docs/gpu.md.",
		"([formats.md](formats.md#paths)), [a](b.md)":   "(docs/formats.md#paths), a (docs/b.md)",
		"the [README](../README.md) and [x](https://y)": "the README (README.md) and x (https://y)",
		"no [link, a](b":                                "no [link, a](b",
		"":                                              "",
	} {
		if got := unlinked(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
	for _, slug := range Warnings() {
		if strings.Contains(Advice(slug), "](") {
			t.Errorf("%s: the advice has a link: %s", slug, Advice(slug))
		}
	}
}
