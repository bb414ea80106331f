// Package spec is what cg and its packages for sessions (Python, Java, Go) must
// agree on, as data: constants.txt, and a table of cases for each rule that all of
// them have. Sessions of C and C++ are those of the package for Go. It imports nothing and
// computes nothing.
//
// The tables of cases/ hold the packages, and cg where it has the rule, too:
//
//	between.txt      the energy of a part of a series (nemb.Series.Between)
//	lags.json        by how much an energy may be off since a counter is late (nemb.Habits.Lag)
//	tasks.json       the energy of a task with its interval, and what it has of GPUs, written by hand
//	noise.json       how steady the power was (report)
//	ring.json        rings of samples, good and damaged (nemb/sampler)
//	powercap.json    zones, dies and units of powercap (nemb/sensor/powercap)
//	unwrap.json      counters that wrap (nemb/counter)
//	counts.json      units of work that a task counts, written by hand
//	budgets.json     budgets of tests, and what runs tell of them, written by hand (Node, too)
//	cells.json       texts in a CSV, written by hand
//	neighbours.json  the list of processes with a session, written by hand
//	fields.json      the fields of a session's file (docs/session.schema.json)
//	files.json       files of sessions, which report reads and checks, too
//
// Tables that cg has a rule for are written by the test of that rule (-update).
package spec

//go:generate go run ./generate
