package cli

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/tell"
	"cg/recorder"
	"cg/report/figures"
	"cg/shown"
)

// traceRank is what cg info tells of a rank.
type traceRank struct {
	Rank    int    `json:"rank"`
	Records uint64 `json:"total_records"`
}

// traceInfo shows what a trace of Recorder holds. The times are not read.
func traceInfo(c *cli.Context) error {
	for _, flag := range []string{"sensors", "sysroot"} {
		if c.IsSet(flag) {
			return exit.Usage("info: --%s is for the machine, and a trace has no sensors", flag)
		}
	}
	if c.NArg() > 1 {
		return exit.Usage("info: %d folders: name one", c.NArg())
	}
	dir := c.Args().First()
	t, err := recorder.Open(dir)
	if err != nil {
		return exit.Failure("%s: %w", dir, err)
	}
	var ranks []traceRank
	total := uint64(0)
	for i := range t.Ranks {
		n, err := t.Records(i)
		if err != nil {
			return exit.Failure("%s: %w", dir, err)
		}
		ranks = append(ranks, traceRank{i, n})
		total += n
	}
	if c.Bool("json") {
		return tell.PutJSON(struct {
			GM      recorder.Meta `json:"GM"`
			Records uint64        `json:"records"`
			LMs     []traceRank   `json:"LMs"`
			Funcs   []string      `json:"functions"`
		}{t.Meta, total, ranks, t.Functions})
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	shown.Fprintf(w, "trace\tRecorder %s\n", t.Version)
	shown.Fprintf(w, "ranks\t%s\n", figures.Count(uint64(t.Ranks)))
	shown.Fprintf(w, "records\t%s%s\n", figures.Count(total), spread(ranks))
	shown.Fprintf(w, "functions\t%s that Recorder intercepts\n", figures.Count(uint64(len(t.Functions))))
	start := time.Unix(0, int64(t.Start*1e9)).UTC()
	shown.Fprintf(w, "start\t%s of rank 0\n", start.Format("2006-01-02 15:04:05.000 UTC"))
	shown.Fprintf(w, "tick\t%s\n", figures.Seconds(t.Resolution))
	shown.Fprintf(w, "tables\t%s\n", shared(t))
	return w.Flush()
}

// spread says how the records are spread over the ranks, where that is not the same for all.
func spread(ranks []traceRank) string {
	least, most := ranks[0], ranks[0]
	for _, r := range ranks {
		if r.Records < least.Records {
			least = r
		}
		if r.Records > most.Records {
			most = r
		}
	}
	if len(ranks) == 1 {
		return ""
	}
	if least.Records == most.Records {
		return fmt.Sprintf(", %s each", figures.Count(least.Records))
	}
	return fmt.Sprintf(", from %s (rank %d) to %s (rank %d)", figures.Count(least.Records), least.Rank,
		figures.Count(most.Records), most.Rank)
}

// shared says what of a trace its ranks have in common, and how its times are kept.
func shared(t *recorder.Trace) string {
	text := "of each rank"
	if t.Shared {
		text = "of all ranks together"
	}
	if t.Compression != 0 {
		text += "; times are compressed"
	}
	if t.Patterns {
		text += "; offsets are relative to others, so those of the file are not known"
	}
	return text
}
