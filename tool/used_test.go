package tool

import (
	"os"
	"testing"
)

func TestUsed(t *testing.T) {
	before := Used()
	end := Count(os.Getpid())
	for Used() == before { // until the clock of this process has gone on
	}
	seen := Used()
	end()
	end() // counts nothing twice
	after := Used()
	if after < seen {
		t.Errorf("%v used, and %v before the process was no longer counted", after, seen)
	}
	for range 1 << 20 {
	}
	if got := Used(); got != after {
		t.Errorf("%v used, %v when the process was no longer counted", got, after)
	}
	end = Count(1 << 22) // no process has this number
	if got := Used(); got != after {
		t.Errorf("%v used, %v without a process that is not there", got, after)
	}
	end()
}
