package cli

import (
	"testing"
	"time"
)

func TestCoolDown(t *testing.T) {
	for _, test := range []struct {
		text        string
		celsius     float64 // 0 for none, -1 for an error
		pause, most time.Duration
	}{
		{"", 0, 0, coolMost}, {"60C", 60, 0, coolMost}, {"55.5C,90", 55.5, 0, 90 * time.Second}, {"30s", 0, 30 * time.Second, coolMost},
		{"1m,60C,10m", 60, time.Minute, 10 * time.Minute}, {"60", 0, time.Minute, coolMost},
		{"60F", -1, 0, 0}, {"5C", -1, 0, 0}, {"NaNC", -1, 0, 0}, {"60C,70C", -1, 0, 0}, {"30s,40s", -1, 0, 0}, {"0", -1, 0, 0}, {"60C,", -1, 0, 0}, {"-3s", -1, 0, 0},
	} {
		c, err := coolDownOf(test.text)
		got := 0.0
		if c.celsius != nil {
			got = *c.celsius
		}
		if (test.celsius < 0) != (err != nil) || err == nil && (got != test.celsius || c.pause != test.pause || c.most != test.most) {
			t.Errorf("%q: %+v, %v", test.text, c, err)
		}
	}
}
