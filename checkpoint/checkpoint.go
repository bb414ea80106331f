// Package checkpoint is the channel between an instrumented program and cg: shared
// memory into which the program writes when its functions begin and end.
//
// The runtime inside the program writes one 8-byte word for each event, or sums for
// each call path (FORMAT.md). The package creates the channel and reads from it the
// words of each thread, in the order in which they were written. It knows neither
// languages nor energy. It refuses a channel whose magic number, version or geometry
// it did not write.
package checkpoint

import "fmt"

// Instant is a reading of CLOCK_MONOTONIC in nanoseconds (clock_gettime(2)):
// the one clock in which cg reports times.
type Instant int64

// Tick is a full 64-bit reading of the channel's clock: the raw time-stamp
// counter (TSC on x86-64, CNTVCT on arm64) or nanoseconds of CLOCK_MONOTONIC,
// as the channel's header says. Ticks of one channel are comparable across
// threads and processes; they are turned into nanoseconds only inside windows
// whose both ends carry a Tick and an Instant.
type Tick uint64

// SiteID names a Site. 0 is the whole program; ids are below SiteLimit.
type SiteID uint32

// SiteLimit is the first number that does not fit the 21 bits of a word.
const SiteLimit SiteID = 1 << 21

// OwnSite is where the runtime works for cg inside the program: weaving and
// loading code. It is no site of the program's.
const OwnSite SiteID = SiteLimit - 1

// Thread names a thread of the process tree by its kernel ids.
type Thread struct{ PID, TID uint32 }

func (t Thread) String() string { return fmt.Sprintf("%d/%d", t.PID, t.TID) }

// Kind says what a word tells about its site.
type Kind uint8

const (
	// Enter: a call of the site begins on this thread.
	Enter Kind = iota
	// Exit: the call ends, by return or by exception. Frames above it were
	// left without an Exit of their own and end with it. An Exit of a site
	// that is not on the stack ends a suspended frame.
	Exit
	// Suspend: the frame leaves this thread without ending (yield, await).
	Suspend
	// Resume: a suspended frame continues on this thread. It is no new call.
	Resume
	// Unwind: the site handles an exception and therefore runs: frames above
	// it are gone; if it was suspended it is back.
	Unwind
	// Close: a suspended frame ends without coming back.
	Close
)

var kindNames = [...]string{"enter", "exit", "suspend", "resume", "unwind", "close"}

func (k Kind) String() string {
	switch {
	case int(k) < len(kindNames):
		return kindNames[k]
	case k == Strand:
		return "strand"
	case k == Fork:
		return "fork"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// SiteKind is what a site is in its language.
type SiteKind string

const (
	Module      SiteKind = "module"
	Function    SiteKind = "function"
	Method      SiteKind = "method"
	Constructor SiteKind = "constructor"
	Lambda      SiteKind = "lambda"
	// Task is a span that no source line makes, such as the run of a test.
	Task SiteKind = "task"
	// These are parts of the code of a function, without a call of their own. Rest is what is in no block.
	LinePlace  SiteKind = "line"
	BlockPlace SiteKind = "block"
	RestPlace  SiteKind = "rest"
)

// IsPlace reports whether a site of the kind is a part of a function's code, and has no calls.
func (k SiteKind) IsPlace() bool { return k == LinePlace || k == BlockPlace || k == RestPlace }

// Site is a place in the user's source where checkpoints stand.
type Site struct {
	ID       SiteID
	Language string   // as registered in package languages
	Func     string   // qualified name as the language writes it
	File     string   // as the user would name it: absolute, or as given
	Line     int      // 1-based line of the definition
	Col      int      // 1-based column in bytes
	EndLine  int      // 1-based, inclusive
	Kind     SiteKind // what is defined there
}
