package c

import (
	"strings"
	"testing"

	"cg/languages/languagetest"
)

// TestComputedAlone: what the compiler computes is left alone, and nothing else that has the word constexpr nearby. The
// guard of a lambda records nothing where the compiler computes it.
func TestComputedAlone(t *testing.T) {
	for source, want := range map[string]string{
		"constexpr int f(int n) { while (n) n--; return n; }":                                                                 "f is constexpr",
		"consteval int f(int n) { while (n) n--; return n; }":                                                                 "f is consteval",
		"struct s { constexpr friend int f(s, int n) { while (n) n--; return n; } };":                                         "s::f is constexpr",
		"struct s { constexpr /* of s */ friend int f(s, int n) { while (n) n--; return n; } };":                              "s::f is constexpr",
		"struct s { int n; constexpr friend s operator+(s a, int k) { while (k--) a.n++; return a; } };":                      "s::operator+ is constexpr",
		"struct s { int n; friend s operator+(s a, int k) { while (k--) a.n++; return a; } };":                                "s::operator+",
		"struct s { friend constexpr int f(s, int n) { while (n) n--; return n; } };":                                         "s::f is constexpr",
		"struct s { int n; /* : constexpr */ friend int f(s, int n) { while (n) n--; return n; } };":                          "s::f",
		"auto f = [](int n) constexpr { while (n) n--; return n; };":                                                          "<lambda>",
		"constexpr auto f = [](int n) { while (n) n--; return n; };":                                                          "<lambda>",
		"template <int n> int f(int k) { if constexpr (n > 2) return g([&](int i) { while (i) i--; return i; }); return k; }": "f, f::<lambda>",
		"// Note: not constexpr, since it loops.\nint f(int n) { while (n) n--; return n; }":                                  "f",
		"struct s {\n\t// constexpr: no\n\tint f(int n) { while (n) n--; return n; }\n};":                                     "s::f",
		"constexpr int k = 3, l = 4;\nint f(int n) { while (n) n--; return n; }":                                              "f",
	} {
		parsed, err := plusPlus.parse(newText([]byte(source), true))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range parsed.funcs {
			got = append(got, strings.TrimSpace(f.name+" "+f.alone))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %q, want %q", source, s, want)
		}
	}
}

// A guard names a function and its file as they are, also where its form is another one.
func TestGuardsKeepNames(t *testing.T) {
	text := "# 1 \"my_leave/p.cpp\"\ntemplate <typename T> inline int on_leave(T n) { while (n) n--; return n; }\n"
	w := owner{dir: "/", folders: []string{"/"}, options: languagetest.Fine}
	p, err := plusPlus.planUnit([]byte(text), w, choices{Inline: true}, refused{})
	if err != nil || len(p.funcs) != 1 || !p.funcs[0].spread {
		t.Fatalf("%+v, %v", p, err)
	}
	p.instances = true
	got := p.guardOf(p.funcs[0], 0)
	for _, want := range []string{"my_leave/p.cpp", "on_leave", "__cleanup__(__codegreen_apart)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "_apart/") || strings.Contains(got, "on_apart") {
		t.Error(got)
	}
}
