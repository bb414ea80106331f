package history

import (
	"os"
	"path/filepath"
	"testing"
)

// A check that found nothing removes the history that it made, but not the lines that another check appends
// meanwhile, and the other's lines are where the name says.
func TestHistoryOfTwoChecks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	open := func() *File {
		t.Helper()
		h, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	appended := func(h *File, line string) {
		t.Helper()
		if err := h.Append([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	first, second, third := open(), open(), open()
	if !first.isNew || second.isNew {
		t.Fatalf("new: %t and %t", first.isNew, second.isNew)
	}
	first.Close()
	if _, err := os.Stat(name); err == nil {
		t.Error("a history of no check is left")
	}
	appended(second, "one\n")
	appended(third, "two\n")
	second.Close()
	third.Close()
	if got, err := os.ReadFile(name); err != nil || string(got) != "one\ntwo\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	first, second = open(), open()
	appended(second, "three\n")
	second.Close()
	first.Close()
	if got, err := os.ReadFile(name); err != nil || string(got) != "three\n" {
		t.Errorf("%q, %v", got, err)
	}
}
