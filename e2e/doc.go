// Package e2e tests the whole program from outside: cg is started as a user
// starts it, and what it prints, writes and leaves is looked at. The scripts
// are in testdata/script.
package e2e
