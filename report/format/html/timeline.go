package html

import (
	"cmp"
	"fmt"
	"slices"

	"cg/checkpoint"
	"cg/report"
	"cg/report/figures"
	"cg/report/format"
	"cg/report/timeline"
)

// pageTimeline is the timeline of a page.
type pageTimeline struct {
	Note    string       `json:"note"`
	Log     bool         `json:"log"`   // it is from a log of all calls
	Sites   []string     `json:"sites"` // their names
	Files   []string     `json:"files"` // and where they stand
	Lines   []int        `json:"lines"`
	Threads []pageThread `json:"threads"`
	// GPUs are what ran on each, in the form of threads: sites that are kernels have no file.
	GPUs    []pageThread `json:"gpus"`
	GPUNote string       `json:"gpu_note"`
}

// sites gives numbers to what slices are of.
type pageSitesOf struct {
	*pageTimeline
	numbers map[pagePlace]int
}

type pagePlace struct {
	name, file string
	line       int
}

func (s *pageSitesOf) number(p pagePlace) int {
	n, known := s.numbers[p]
	if !known {
		n = len(s.Sites)
		s.numbers[p] = n
		s.Sites, s.Files, s.Lines = append(s.Sites, p.name), append(s.Files, p.file), append(s.Lines, p.line)
	}
	return n
}

// pageThread has the slices of a thread in columns: when they begin after the first
// sample and how long they are, in microseconds, which of the sites they are of, and how
// deep.
type pageThread struct {
	PID   uint32    `json:"pid"`
	TID   uint32    `json:"tid"`
	Name  string    `json:"name,omitempty"`
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
	if err != nil || t == nil && (r.GPUs == nil || len(r.GPUs.KernelRuns) == 0) {
		return nil, err
	}
	out := &pageTimeline{Log: o.Events != nil, Sites: []string{}, Files: []string{}, Lines: []int{},
		Threads: []pageThread{}, GPUs: []pageThread{}}
	sites := &pageSitesOf{out, map[pagePlace]int{}}
	if t != nil {
		out.threads(r, t, sites, start)
	}
	out.kernels(r, sites, start)
	return out, nil
}

// kernels tells what ran on GPUs. What ran at once stands in rows below each other.
func (out *pageTimeline) kernels(r *report.Run, sites *pageSitesOf, start int64) {
	if r.GPUs == nil || len(r.GPUs.KernelRuns) == 0 {
		return
	}
	lanes, ends := map[string]*pageThread{}, map[string][]int64{}
	var order []string
	runs := uint64(0)
	for _, k := range r.GPUs.Kernels {
		runs += k.Runs
	}
	for _, run := range r.GPUs.KernelRuns {
		if run.Kernel < 0 || run.Kernel >= len(r.GPUs.Kernels) { // a file that was changed: cg report --verify tells
			continue
		}
		k := r.GPUs.Kernels[run.Kernel]
		lane := lanes[k.Domain]
		if lane == nil {
			lane = &pageThread{Name: k.Domain}
			lanes[k.Domain] = lane
			order = append(order, k.Domain)
		}
		row := slices.IndexFunc(ends[k.Domain], func(end int64) bool { return end <= run.StartedAtMonoNs })
		if row < 0 {
			row = len(ends[k.Domain])
			ends[k.Domain] = append(ends[k.Domain], 0)
		}
		ends[k.Domain][row] = run.EndedAtMonoNs
		lane.add(run.StartedAtMonoNs-start, run.EndedAtMonoNs-run.StartedAtMonoNs,
			sites.number(pagePlace{name: k.Name}), row)
	}
	slices.Sort(order)
	for _, domain := range order {
		out.GPUs = append(out.GPUs, *lanes[domain])
	}
	out.GPUNote = fmt.Sprintf("all %s kernels and copies", figures.Count(runs))
	if n := uint64(len(r.GPUs.KernelRuns)); n < runs {
		out.GPUNote = fmt.Sprintf("the longest %s of %s kernels and copies", figures.Count(n), figures.Count(runs))
	}
}

// add adds a slice: when it begins and how long it is, in nanoseconds.
func (th *pageThread) add(from, long int64, site, depth int) {
	th.From, th.Long = append(th.From, float64(from)/1e3), append(th.Long, float64(long)/1e3)
	th.Site, th.Depth = append(th.Site, site), append(th.Depth, depth)
}

// threads tells the calls of threads.
func (out *pageTimeline) threads(r *report.Run, t *timeline.Timeline, sites *pageSitesOf, start int64) {
	out.Note = t.Note
	var threads []*pageThread
	inside := map[*pageThread]int64{}
	names := r.ThreadNames()
	depth := []checkpoint.Instant{} // the ends of the slices around
	for i, s := range t.Slices {
		if i == 0 || t.Slices[i-1].Thread != s.Thread {
			threads = append(threads, &pageThread{PID: s.Thread.PID, TID: s.Thread.TID, Name: names[s.Thread]})
			depth = depth[:0]
		}
		th := threads[len(threads)-1]
		site := sites.number(pagePlace{t.Name(s), t.Places[s.Site].File, t.Places[s.Site].Line})
		for len(depth) > 0 && depth[len(depth)-1] <= s.From {
			depth = depth[:len(depth)-1]
		}
		if len(depth) == 0 {
			inside[th] += s.Lasted()
		}
		th.add(int64(s.From)-start, s.Lasted(), site, len(depth))
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
}
