package sysfs

import "testing"

func TestCountList(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-3": 4, "0-3,8,10-11": 7, "": 0, "3-1": 0, "a": 0, "0-": 0} {
		if got := Count(list); got != want {
			t.Errorf("%q: %d, want %d", list, got, want)
		}
	}
}
