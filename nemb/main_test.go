package nemb

import (
	"errors"
	"os"
	"testing"

	"cg/nemb/leaks"
	"cg/nemb/simulate"
)

// TestMain also plays the other process of the ring's test.
func TestMain(m *testing.M) {
	if os.Getenv("NEMB_CHILD") == "ring" {
		readShared()
		return
	}
	os.Exit(leaks.Run(m))
}

// mount serves machine until the test ends.
func mount(t testing.TB, machine simulate.Machine) (*simulate.Tree, Root) {
	t.Helper()
	dir := t.TempDir()
	tree, err := simulate.Mount(dir, machine)
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree, Root{dir}
}
