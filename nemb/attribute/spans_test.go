package attribute

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// Long calls are told with their times, whatever is measured.
func TestSpans(t *testing.T) {
	used := func(at int64) account.Usage {
		u := account.Usage{Program: 2 * time.Duration(at)}
		for id := uint32(1); id <= 2; id++ {
			u.Threads = append(u.Threads, account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: id}, CPU: time.Duration(at)})
		}
		return u
	}
	for _, tt := range []struct {
		method nemb.Method
		period time.Duration
		want   []string
	}{
		{nemb.Estimated, 0, []string{"1/1: 1 10-100", "1/1: 2 20-50", "1/2: 4 30-55"}},
		{nemb.Measured, 2 * time.Millisecond, []string{"1/1: 1 10-100"}}, // 20 periods are 40 ms
	} {
		var tp tape
		for _, e := range []struct {
			thread uint32
			at     int64
			kind   checkpoint.Kind
			site   checkpoint.SiteID
		}{
			{1, 5, checkpoint.Enter, 9}, {1, 6, checkpoint.Exit, 9}, {2, 5, checkpoint.Enter, 9}, {2, 6, checkpoint.Exit, 9},
			{1, 10, checkpoint.Enter, 1}, {1, 20, checkpoint.Enter, 2}, {1, 50, checkpoint.Exit, 2},
			{1, 60, checkpoint.Enter, 3}, {1, 70, checkpoint.Exit, 3}, {1, 100, checkpoint.Exit, 1},
			{2, 30, checkpoint.Enter, 4}, {2, 55, checkpoint.Exit, 4},
			// Away for a while: it is not one stretch.
			{2, 60, checkpoint.Enter, 5}, {2, 65, checkpoint.Suspend, 5}, {2, 70, checkpoint.Resume, 5}, {2, 110, checkpoint.Exit, 5},
			{2, 111, checkpoint.Enter, checkpoint.OwnSite}, {2, 190, checkpoint.Exit, checkpoint.OwnSite},
		} {
			tp.add(e.thread, e.at*ms, e.kind, e.site)
		}
		d := counter
		d.Method, d.Period = tt.method, tt.period
		r := tp.play([]nemb.Domain{d}, 200*ms, ms, constant(10), used)
		lawful(t, r)
		var got []string
		for _, s := range r.Spans {
			got = append(got, fmt.Sprintf("%v: %d %d-%d", s.Thread, s.Site, (int64(s.From)-origin)/ms, (int64(s.To)-origin)/ms))
		}
		if strings.Join(got, "; ") != strings.Join(tt.want, "; ") {
			t.Errorf("%s: %q, want %q", tt.method, got, tt.want)
		}
	}
}
