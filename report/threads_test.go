package report

import (
	"maps"
	"testing"

	"cg/checkpoint"
)

func TestThreadNames(t *testing.T) {
	of := func(pid, tid uint32) checkpoint.Thread { return checkpoint.Thread{PID: pid, TID: tid} }
	for name, k := range map[string]struct {
		threads []Thread
		want    map[checkpoint.Thread]string
	}{
		"language": {[]Thread{{7, 7, "MainThread", "python3", false}, {7, 8, "pool_0", "python3", false}, {7, 9, "", "python3", false}},
			map[checkpoint.Thread]string{of(7, 7): "MainThread", of(7, 8): "pool_0"}},
		"kernel": {[]Thread{{7, 7, "", "java", false}, {7, 8, "", "pool-1-thread-1", false}, {7, 9, "", "reader", false}, {7, 10, "", "", false}},
			map[checkpoint.Thread]string{of(7, 7): "java", of(7, 8): "pool-1-thread-1", of(7, 9): "reader"}},
		"go": {[]Thread{{7, 7, "", "server", true}, {7, 8, "", "server", true}, {7, 9, "", "", true}},
			map[checkpoint.Thread]string{of(7, 7): "server", of(7, 8): "M", of(7, 9): "M"}},
		"process unknown": {[]Thread{{7, 8, "", "server", false}}, map[checkpoint.Thread]string{}},
		"none":            {nil, map[checkpoint.Thread]string{}},
	} {
		r := &Run{Threads: k.threads}
		if got := r.ThreadNames(); !maps.Equal(got, k.want) {
			t.Errorf("%s: %q, not %q", name, got, k.want)
		}
	}
}
