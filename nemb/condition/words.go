package condition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// memory is bytes for people.
func memory(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
}

// Line says in words what the machine was like before a run, and what was otherwise after it; "" where it told
// nothing.
func (a Around) Line() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	changing := func(before, after *float64, unit string) {
		switch {
		case before == nil:
		case after == nil || fmt.Sprintf("%.0f", *after) == fmt.Sprintf("%.0f", *before):
			add("%.0f %s", *before, unit)
		default:
			add("%.0f to %.0f %s", *before, *after, unit)
		}
	}
	changing(a.Before.TemperatureC, a.After.TemperatureC, "°C")
	changing(a.Before.FrequencyMHz, a.After.FrequencyMHz, "MHz")
	if len(a.Before.Governors) > 0 {
		add("governor %s", strings.Join(a.Before.Governors, ", "))
	}
	if n := Throttled(a.Before, a.After); n > 0 {
		add("slowed down for heat %d times", n)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Before.PowerCapsW)) {
		add("power limit %s %s", name, watts(a.Before.PowerCapsW[name]))
	}
	if a.Before.Cores != "" {
		add("program on processors %s", a.Before.Cores)
	}
	if limit := a.Before.CPULimit; limit != nil {
		add("at most %s processors", strconv.FormatFloat(*limit, 'g', 6, 64))
	}
	if limit := a.Before.MemoryLimitBytes; limit != nil {
		add("at most %s of memory", memory(*limit))
	}
	if free := a.Before.MemoryAvailableBytes; free != nil {
		add("%s of memory free", memory(*free))
	}
	if a.Before.VirtualMachine {
		add("a virtual machine")
	}
	if load := a.Before.Load1m; load != nil {
		add("load %.1f", *load)
	}
	if others := a.others(); len(others) > mostNamed {
		add("at the same time %s and %d others measured", strings.Join(others[:mostNamed], ", "), len(others)-mostNamed)
	} else if len(others) > 0 {
		add("at the same time %s measured", strings.Join(others, ", "))
	}
	return strings.Join(parts, ", ")
}

// mostNamed is how many of those that measured a line names.
const mostNamed = 3

// others names those that measured before or after, each once.
func (a Around) others() []string {
	return slices.Compact(slices.Sorted(slices.Values(Names(slices.Concat(a.Before.Others, a.After.Others)))))
}
