package nemb

import "testing"

func TestReadsMachine(t *testing.T) {
	cases := []struct {
		d    Domain
		want bool
	}{
		{Domain{ID: "package-0", Method: Measured}, true},
		{Domain{ID: "wall", Method: Derived}, true},
		{Domain{ID: "machine", Method: Estimated}, false},
		{Domain{ID: "machine", Method: Unavailable}, false},
		{Domain{ID: "machine"}, false},
		{Domain{ID: "program", Method: Measured, Program: true}, false},
		{Domain{ID: "block", Method: Derived, Program: true}, false},
	}
	for _, c := range cases {
		if got := c.d.ReadsMachine(); got != c.want {
			t.Errorf("%s, %q: %v, want %v", c.d.ID, c.d.Method, got, c.want)
		}
	}
}
