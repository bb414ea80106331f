package attach

import (
	"errors"
	"fmt"

	"cg/attach/python"
	"cg/checkpoint"
)

// Check tells why a process that runs cannot be looked at; nil where it can, itself or one that
// it has started.
func Check(pid int) error {
	var first error
	for _, p := range family(pid) {
		_, err := python.Open(p, func(python.Function) checkpoint.SiteID { return 0 })
		if err == nil {
			return nil
		}
		if first == nil || errors.Is(first, python.ErrNoPython) && !errors.Is(err, python.ErrNoPython) {
			first = fmt.Errorf("process %d (%s): %w", p, command(p), err)
		}
	}
	return first
}

// family is a process and those that it has started.
func family(pid int) (all []int) {
	all = []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}
