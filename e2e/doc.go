// Package e2e tests the whole program from outside: it starts cg as a user does, and
// checks what cg prints, writes and leaves behind. The scripts are in testdata/script.
package e2e
