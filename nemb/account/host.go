package account

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// Host is the processor time that the host used until an instant.
type Host struct {
	at          time.Time
	busy, steal time.Duration
	ok          bool
}

// ReadHost reads /proc/stat.
func ReadHost() Host {
	text, err := os.ReadFile("/proc/stat")
	h := Host{at: time.Now()}
	if err != nil {
		return h
	}
	h.busy, h.ok = ParseBusy(text)
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if fields := bytes.Fields(line); len(fields) > 8 {
		v, _ := strconv.ParseUint(string(fields[8]), 10, 53)
		h.steal = time.Duration(v) * Tick
	}
	return h
}

// Until tells which parts of the time of so many processors were busy and stolen
// from h to now. Both are 0 where one of them could not be read.
func (h Host) Until(now Host, processors int) (busy, steal float64) {
	all := now.at.Sub(h.at).Seconds() * float64(max(1, processors))
	if !h.ok || !now.ok || all <= 0 {
		return 0, 0
	}
	return (now.busy - h.busy).Seconds() / all, (now.steal - h.steal).Seconds() / all
}

// Tick is the unit of processor times below /proc: 100 a second on all
// architectures that Go and powercap share (USER_HZ, proc(5)).
const Tick = time.Second / 100

// ParseBusy adds up the busy part of the first line of /proc/stat (proc(5)), false where
// the text is not one:
//
//	cpu  user nice system idle iowait irq softirq steal guest guest_nice
//
// guest is part of user, guest_nice of nice, and stolen time was not ours.
func ParseBusy(text []byte) (time.Duration, bool) {
	line, _, whole := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if !whole || len(fields) < 8 || string(fields[0]) != "cpu" {
		return 0, false
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		v, err := strconv.ParseUint(string(fields[i]), 10, 53)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(v) * Tick
	}
	return sum, true
}
