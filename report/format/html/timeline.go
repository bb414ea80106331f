package html

import (
	"cmp"
	"fmt"
	"slices"

	"cg/checkpoint"
	"cg/report"
	"cg/report/format"
	"cg/report/timeline"
)

// pageTimeline is the timeline of a page.
type pageTimeline struct {
	Note    string       `json:"note"`
	Log     bool         `json:"log"`   // it is from a log of all calls
	Sites   []string     `json:"sites"` // their names
	Files   []string     `json:"files"` // and where they stand
	Threads []pageThread `json:"threads"`
}

// pageThread has the slices of a thread in columns: when they begin after the first
// sample and how long they are, in microseconds, which of the sites they are of, and how
// deep.
type pageThread struct {
	PID   uint32    `json:"pid"`
	TID   uint32    `json:"tid"`
	From  []float64 `json:"from"`
	Long  []float64 `json:"long"`
	Site  []int     `json:"site"`
	Depth []int     `json:"depth"`
}

// pageSlices is how many slices a page has, if Options do not say, and pageThreads
// of how many threads at most.
const (
	pageSlices  = 20_000
	pageThreads = 32
)

// pageTimelineOf takes the threads with the most time in calls; a page starts at
// the moment start.
func pageTimelineOf(r *report.Run, start int64, o format.Options) (*pageTimeline, error) {
	o.Slices = cmp.Or(o.Slices, pageSlices)
	t, err := timeline.Of(r, o)
	if t == nil || err != nil {
		return nil, err
	}
	out := &pageTimeline{Note: t.Note, Log: o.Events != nil, Sites: []string{}, Files: []string{},
		Threads: []pageThread{}}
	sites := map[[2]string]int{}
	var threads []*pageThread
	inside := map[*pageThread]int64{}
	depth := []checkpoint.Instant{} // the ends of the slices around
	for i, s := range t.Slices {
		if i == 0 || t.Slices[i-1].Thread != s.Thread {
			threads = append(threads, &pageThread{PID: s.Thread.PID, TID: s.Thread.TID})
			depth = depth[:0]
		}
		th := threads[len(threads)-1]
		site := [2]string{t.Name(s), t.Places[s.Site].File}
		if _, ok := sites[site]; !ok {
			sites[site] = len(out.Sites)
			out.Sites, out.Files = append(out.Sites, site[0]), append(out.Files, site[1])
		}
		for len(depth) > 0 && depth[len(depth)-1] <= s.From {
			depth = depth[:len(depth)-1]
		}
		if len(depth) == 0 {
			inside[th] += s.Lasted()
		}
		th.From, th.Long = append(th.From, float64(int64(s.From)-start)/1e3), append(th.Long, float64(s.Lasted())/1e3)
		th.Site, th.Depth = append(th.Site, sites[site]), append(th.Depth, len(depth))
		depth = append(depth, s.To)
	}
	if len(threads) > pageThreads {
		slices.SortStableFunc(threads, func(a, b *pageThread) int { return cmp.Compare(inside[b], inside[a]) })
		out.Note += fmt.Sprintf("; %d of %d threads, those with the most time in calls", pageThreads, len(threads))
		threads = threads[:pageThreads]
	}
	for _, th := range threads {
		out.Threads = append(out.Threads, *th)
	}
	return out, nil
}
