// Package spec is what cg and its packages for sessions (Python, Java, Go) must
// agree on, as data: constants.txt, and a table of cases for each rule that all of
// them have (cases/). It imports nothing and computes nothing.
package spec

//go:generate go run ./generate
