package languages

// A small function runs for about as long as its checkpoints take, or shorter: where it is
// called very often, its calls may be counted and no longer timed. Its body calls nothing,
// makes nothing and repeats nothing (each language knows which parts of its syntax do),
// and it is no larger than IsSmall admits.
//
// The size is counted in names and constants, as that is what all languages have alike.
// CPython 3.11 takes 59 ns for twelve of them with the operators between, and the
// checkpoints of a call 43 ns (docs/python.md; both on a guest of 2 processors at 2.7 GHz).
// Compiled code is faster, so there the size is no matter of time; 95 % of the bodies in
// Go's standard library that meet the other conditions are no larger.
const (
	smallStatements = 2
	smallNames      = 12
)

// IsSmall reports whether a body of so many statements, names and constants may be that of
// a small function. It only gets false as they grow, so a language may ask while it counts.
// runtimes/python/in-program/outline.py has the same limits.
func IsSmall(statements, names int) bool {
	return statements <= smallStatements && names <= smallNames
}
