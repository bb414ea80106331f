// Package long leaves out of a test run what takes long, where go test has -short. That is the one way in which a
// test does less than it can for the sake of time: ./test.sh without CI=true and .ci/run pass -short, .ci/release tests
// does not. What is left out is a skipped test in the output, with a reason that begins with [Reason], so that it is
// counted. What a machine lacks is no matter of this package. Only tests import it.
package long

import (
	"fmt"
	"testing"
)

// Reason begins the message of each test that is skipped because it takes long.
const Reason = "takes long"

// Skip ends a test that takes long as a whole. why says what the test waits for or computes; it may be empty.
func Skip(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(reason(why))
	}
}

// Without reports whether a test goes without a part that takes long. what names the part, which is then a skipped
// subtest of its own.
func Without(t testing.TB, what string) bool {
	t.Helper()
	if test, is := t.(*testing.T); is && testing.Short() {
		test.Run("left out", func(t *testing.T) { t.Skip(reason(what)) })
	}
	return testing.Short()
}

// Rounds is how often a test does the same with other numbers: few times where it must not take long, else all.
func Rounds(t testing.TB, few, all int) int {
	t.Helper()
	if Without(t, fmt.Sprintf("%d of %d rounds", all-few, all)) {
		return few
	}
	return all
}

// Runs reports whether what takes long is run: for scripts, which skip themselves.
func Runs() bool { return !testing.Short() }

func reason(what string) string {
	if what == "" {
		return Reason
	}
	return Reason + ": " + what
}
