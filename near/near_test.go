package near

import (
	"strings"
	"testing"
)

func TestTo(t *testing.T) {
	names := []string{"measure", "merge", "run", "gate", "report", "go", "python", "java", "init-sensors", "CPU", "é-x", "completion", "compare", "man", "monitor", "monitor"}
	for _, test := range []struct{ word, want string }{
		{"mesure", "measure"},
		{"measrue", "measure"},
		{"measures", "measure"},
		{"MEASURE", "measure"},
		{"pyhton", "python"},
		{"init_sensors", "init-sensors"},
		{"initsensors", "init-sensors"},
		{"gp", "go"},
		{"rn", "run"},
		{"cpu", "CPU"},
		{"e-x", "é-x"},
		{"mrege", "merge"},
		{"x", ""},
		{"", ""},
		{"xy", ""},
		{"frobnicate", ""},
		{"jar", ""},
		{"reprot", "report"},
		{"meas", "measure"},
		{"init", "init-sensors"},
		{"me", ""},
		{"com", ""},
		{"mon", "monitor"},
		{"mna", "man"},
		{strings.Repeat("m", 1000), ""},
	} {
		if got := To(test.word, names); got != test.want {
			t.Errorf("To(%q) = %q, want %q", test.word, got, test.want)
		}
	}
	if got := Or("gaet", names, "else"); got != `did you mean "gate"?` {
		t.Error(got)
	}
	if got := Or("frobnicate", names, "else"); got != "else" {
		t.Error(got)
	}
}

// A name is near to itself, the distance is the same both ways, and nothing panics.
func FuzzTo(f *testing.F) {
	f.Add("measure", "mesure")
	f.Add("\xff\xfe", "é")
	f.Fuzz(func(t *testing.T, a, b string) {
		if n := len([]rune(a)); n >= 2 && n <= longest && To(a, []string{a}) != a {
			t.Errorf("%q is not near to itself", a)
		}
		x, y := []rune(a), []rune(b)
		if len(x) > longest || len(y) > longest {
			return
		}
		if d := distance(x, y); d != distance(y, x) || d > max(len(x), len(y)) {
			t.Errorf("%q, %q: %d and %d", a, b, d, distance(y, x))
		}
	})
}
