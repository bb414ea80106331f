// Package pattern has regular expressions for package variables. They are compiled when they are
// first used: no run of cg uses more than a few, and each takes 10 to 100 µs.
package pattern

import (
	"regexp"
	"sync"
)

// Later is regexp.MustCompile, made at the first call of the function that it returns.
func Later(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
