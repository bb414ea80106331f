package flags

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"cg/near"
	"cg/nemb/sampler"
)

// OneOf refuses what is none of some names.
func OneOf(names ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(names, s) {
			return fmt.Errorf("%q is not known: %s", s, near.Or(s, names, "use one of "+strings.Join(names, ", ")))
		}
		return nil
	}
}

// Given tells whether a flag stands on the command line.
func Given(c *cli.Context, name string) bool {
	return c.IsSet(name) && c.App.Metadata[setBySettings+name] == nil
}

// setBySettings is what stands before a flag's name in the metadata where its value is a setting's.
const setBySettings = "from settings: "

// FromSettings says that a flag's value, which has been set, is none of the command line.
func FromSettings(c *cli.Context, name string) {
	if c.App.Metadata == nil {
		c.App.Metadata = map[string]any{}
	}
	c.App.Metadata[setBySettings+name] = true
}

// Precision reads a sampling interval: a word, or a time with its unit.
func Precision(s string) (time.Duration, error) {
	if d, ok := map[string]time.Duration{"low": 100 * time.Millisecond, "medium": 10 * time.Millisecond,
		"high": time.Millisecond}[s]; ok {
		return d, nil
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0,
			fmt.Errorf("precision %q is not known: use low, medium or high (100, 10, 1 ms), or a time such as 5ms", s)
	case d < sampler.MinInterval || d > sampler.MaxInterval:
		return 0, fmt.Errorf("an interval of %s is out of range: use %v to %v",
			s, sampler.MinInterval, sampler.MaxInterval)
	}
	return d, nil
}

// Duration reads seconds, or a number with units; "" is none.
func Duration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time: use seconds, or such as 90s, 1m30s", s)
	}
	return d, nil
}

// NewID is an id where no flag names one: a random UUID (RFC 9562, version 4).
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
