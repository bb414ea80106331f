package checkpoint

import (
	"fmt"
	"sort"
	"strings"
	"testing"
)

const threeSites = "S\tfunction\t1\t0\t1\tf\nS\tfunction\t2\t0\t2\tg\nS\tfunction\t3\t0\t3\th"

// numbered lets n children number m files each, and gives the number before
// each file's first.
func numbered(t *testing.T, c *Channel, n, m int) []int {
	t.Helper()
	cmd := write(t, c, "number", fmt.Sprint(n), fmt.Sprint(m))
	cmd.Stdout = nil
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	bases := make([]int, m)
	for i := range bases {
		bases[i] = -2
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != n*m {
		t.Fatalf("%d lines of %d", len(lines), n*m)
	}
	for _, line := range lines {
		var k, base int
		fmt.Sscan(line, &k, &base)
		if bases[k] == -2 {
			bases[k] = base
		} else if bases[k] != base {
			t.Fatalf("file %d has %d and %d", k, bases[k], base)
		}
	}
	return bases
}

// TestNumber: all processes, and cg, find the same numbers for a file; no two
// files share one; and none is given out in vain.
func TestNumber(t *testing.T) {
	c := channel(t, 8)
	before, err := c.Number("m", "/3.x", threeSites, 3)
	if err != nil {
		t.Fatal(err)
	}
	bases := numbered(t, c, 12, 300)
	if bases[3] != before {
		t.Errorf("the writers have %d, cg has %d", bases[3], before)
	}
	if again := numbered(t, c, 3, 300); fmt.Sprint(again) != fmt.Sprint(bases) {
		t.Errorf("later processes have other numbers")
	}
	for k, want := range bases {
		if got, err := c.Number("m", fmt.Sprintf("/%d.x", k), threeSites, 3); err != nil || got != want {
			t.Errorf("file %d: %d, %v; the writers have %d", k, got, err, want)
		}
	}
	if c.head.given != 900 {
		t.Errorf("%d numbers given out, want 900", c.head.given)
	}
	told := map[string]int{}
	for range 2 {
		c.Files(func(module, path, lines string, base, count int) {
			if _, again := told[path]; again || module != "m" || lines != threeSites || count != 3 {
				t.Errorf("told %q %q %q %d", module, path, lines, count)
			}
			told[path] = base
		})
	}
	for k, want := range bases {
		if got, ok := told[fmt.Sprintf("/%d.x", k)]; !ok || got != want {
			t.Errorf("file %d: told %d, %v; want %d", k, got, ok, want)
		}
	}
	sort.Ints(bases)
	for i, b := range bases {
		if b != 3*i {
			t.Fatalf("the %dth range begins at %d", i, b)
		}
	}
}

// TestNumberKilled: a process that was killed while it gave out numbers holds
// up nobody.
func TestNumberKilled(t *testing.T) {
	c := channel(t, 8)
	for k := range 4 {
		key := digest(digest(digest(0, "m"), fmt.Sprintf("/%d.x", k)), threeSites)
		c.files[key%256].key = key
	}
	own, err := c.Number("m", "/3.x", threeSites, 3)
	if err != nil {
		t.Fatal(err)
	}
	if bases := numbered(t, c, 4, 4); bases[3] != own {
		t.Errorf("%d, want %d", bases[3], own)
	}
}

// TestNumbersUsedUp: the writers then ask cg.
func TestNumbersUsedUp(t *testing.T) {
	c := channel(t, 8)
	if _, err := c.ReserveNumbers(int(OwnSite) - 8); err != nil {
		t.Fatal(err)
	}
	bases := numbered(t, c, 1, 4)
	if fmt.Sprint(bases) != fmt.Sprint([]int{int(OwnSite) - 8, int(OwnSite) - 5, -1, -1}) {
		t.Error(bases)
	}
	if base, err := c.ReserveNumbers(1); err != nil || base != int(OwnSite)-2 {
		t.Error(base, err)
	}
	if _, err := c.ReserveNumbers(1); err == nil {
		t.Error("cg's own site is given out")
	}
	c = channel(t, 8)
	c.head.named = nameBytes - 128
	if bases := numbered(t, c, 1, 2); fmt.Sprint(bases) != "[0 -1]" {
		t.Error(bases)
	}
}
