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
	h.busy, h.ok = parseBusy(text)
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
