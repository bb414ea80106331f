package nemb

import (
	"testing"
	"time"

	"cg/checkpoint"
)

// slowSensor counts a power on the machine's clock. Its first reading takes a while.
type slowSensor struct {
	watts float64
	first time.Duration
}

func (s *slowSensor) Domains() []Domain { return []Domain{{ID: "package-0", Source: "slow"}} }
func (s *slowSensor) Close() error      { return nil }

func (s *slowSensor) Read(dst []Energy) error {
	for begin := checkpoint.Monotime(); time.Duration(checkpoint.Monotime()-begin) < s.first; {
	}
	s.first = 0
	dst[0] = Energy(s.watts * float64(checkpoint.Monotime()) / 1e3)
	return nil
}

// What is used between the readings of two sources is no disagreement: a processor
// that stands still there makes it large.
func TestReadingsApartAgree(t *testing.T) {
	for _, first := range []time.Duration{0, 2 * shortest} { // of the first source, of the second
		c := &comparison{names: []string{"package-0"}}
		c.used = []reader{{&slowSensor{50, 2*shortest - first}, 0}}
		c.other = []reader{{&slowSensor{50, first}, 0}}
		c.begin()
		if notes := c.doubts(); len(notes) > 0 {
			t.Errorf("%+v", notes)
		}
	}
}
