// Package cluster makes one document of what the ranks of a run left in their folder
// (ranks/FORMAT.md): by rank, by node, and by function over ranks.
//
// Merge reads the folder rank by rank and keeps sums. The energy of a node is that of
// its counters, once; ranks have their shares of it. Check recomputes a document from its
// parts.
package cluster

import (
	"fmt"

	"cg/footprint"
	"cg/nemb"
	"cg/report"
)

// Differs is the slug of the warning that shares and reports of ranks do not fit together.
const Differs = "shares-differ"

// Tool is meta.tool of a document.
const Tool = "cg merge"

// Run is a run of many ranks.
type Run struct {
	Meta      Meta             `json:"meta"`
	Totals    Totals           `json:"totals"`
	Ledger    []Line           `json:"ledger"`
	Imbalance []Spread         `json:"imbalance"`
	Nodes     []Node           `json:"nodes"`
	Ranks     []Rank           `json:"ranks"`
	Functions []Function       `json:"functions"`
	MPI       []MPI            `json:"mpi"`
	Heat      []Heat           `json:"heat"`
	Holes     []Hole           `json:"holes"`
	Warnings  []report.Warning `json:"warnings"`
	// Footprint is what the energy of the nodes comes to, where that was asked for.
	Footprint *footprint.Footprint `json:"footprint,omitempty"`
	// SHA256 is the digest of the JSON without spaces and with "" here.
	SHA256 string `json:"sha256"`

	// folder is what it was merged from, "" for a saved document.
	folder string
	// asWritten is the digest of what was read, where that was of an older schema.
	asWritten *string
}

// Kind names a run of many ranks.
func (d *Run) Kind() string { return "a run of many ranks" }

// several is how many there are of what a word in the singular names.
func several(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Title is what was run, for people.
func (d *Run) Title() string {
	title := several(len(d.Ranks), "rank") + " on " + several(len(d.Nodes), "node")
	if d.Meta.Job != "" {
		title = "job " + d.Meta.Job + ": " + title
	}
	return title
}

// Mark stands before every energy that was not measured.
func (d *Run) Mark() string { return report.Mark(d.Totals.Kind) }

// Meta identifies the run.
type Meta struct {
	SchemaVersion string   `json:"schema_version"`
	Tool          string   `json:"tool"`
	CgVersion     string   `json:"cg_version"`
	RunID         string   `json:"run_id"`
	Job           string   `json:"job"`
	Launchers     []string `json:"launchers"`
	Size          int      `json:"size"`       // ranks of the job, 0 where nobody tells it
	StartedAt     string   `json:"started_at"` // of the first rank, by its node's clock: RFC 3339, UTC
	EndedAt       string   `json:"ended_at"`
	Argv          []string `json:"argv"` // of the first rank with a report
	Language      string   `json:"language"`
	Granularity   string   `json:"granularity"`
	// ClockBoundNs is how far the clocks of two nodes may be apart at most; null where
	// that is not known of every node. Moments on two nodes have no order within it.
	ClockBoundNs *int64 `json:"clock_bound_ns"`
	Slurm        *Slurm `json:"slurm"`
}

// Slurm is what Slurm's own accounting tells of the job step.
type Slurm struct {
	JobID           string   `json:"job_id"`
	StepID          string   `json:"step_id"`
	ConsumedEnergyJ *float64 `json:"consumed_energy_j"`
	Source          string   `json:"source"`
}

// Totals is the energy of all nodes while their ranks ran.
type Totals struct {
	EnergyJ      *report.Joules `json:"energy_j"`
	EnergyLoJ    *report.Joules `json:"energy_lo_j"`
	EnergyHiJ    *report.Joules `json:"energy_hi_j"`
	Kind         nemb.Method    `json:"energy_kind"`
	RanksEnergyJ *report.Joules `json:"ranks_energy_j"` // the ranks' shares
	// MPI is what the ranks spent in MPI, which is waiting and communication, and
	// Computing all else; null where no rank was seen in MPI.
	MPIEnergyJ       *report.Joules `json:"mpi_energy_j"`
	ComputingEnergyJ *report.Joules `json:"computing_energy_j"`
	MPITimeS         *float64       `json:"mpi_time_s"`
	ComputingTimeS   *float64       `json:"computing_time_s"`
	RankTimeS        float64        `json:"rank_time_s"` // of all ranks together
	DurationS        float64        `json:"duration_s"`
	CPUTimeS         float64        `json:"cpu_time_s"`
	Reports          int            `json:"reports"` // ranks with a report
}

// Line is a line of the ledger. The lines add up to Totals.EnergyJ.
type Line struct {
	Name         string        `json:"name"`
	EnergyJ      report.Joules `json:"energy_j"`
	SharePercent float64       `json:"share_percent"`
}

// Spread is how a figure differs between ranks. Imbalance is max/mean - 1, null where
// the mean is 0.
type Spread struct {
	Of        string   `json:"of"`
	Min       float64  `json:"min"`
	Mean      float64  `json:"mean"`
	Max       float64  `json:"max"`
	MaxRank   int      `json:"max_rank"`
	Ranks     int      `json:"ranks"` // of which it is known
	Imbalance *float64 `json:"imbalance"`
}

// Node is a node, its counters and their division.
type Node struct {
	Name          string          `json:"node"`
	Hostname      string          `json:"hostname"`
	CPUModel      string          `json:"cpu_model"`
	CPUs          int             `json:"cpus"`
	Records       int             `json:"records"`
	Measurers     int             `json:"measurers"`
	Ranks         int             `json:"ranks"`
	Kind          nemb.Method     `json:"energy_kind"`
	EnergyJ       *report.Joules  `json:"energy_j"`
	EnergyLoJ     *report.Joules  `json:"energy_lo_j"`
	EnergyHiJ     *report.Joules  `json:"energy_hi_j"`
	RanksJ        report.Joules   `json:"ranks_energy_j"`
	OtherJ        report.Joules   `json:"other_energy_j"`
	IdleJ         report.Joules   `json:"idle_energy_j"`
	OwnJ          report.Joules   `json:"cg_energy_j"`
	UnattributedJ report.Joules   `json:"unattributed_energy_j"`
	Domains       []Domain        `json:"domains"`
	StartedUnixNs int64           `json:"started_unix_ns"`
	UpdatedUnixNs int64           `json:"updated_unix_ns"` // of the last sample
	Ended         bool            `json:"ended"`           // its record has an end
	Clock         Clock           `json:"clock"`
	Samples       []Sample        `json:"samples"`
	shares        map[int]shareOf // by rank
}

// Domain is a domain of a node. Total is the sum of the other energies.
type Domain struct {
	ID            string        `json:"id"`
	Parent        string        `json:"parent"`
	Kind          string        `json:"kind"`
	Source        string        `json:"source"`
	Method        nemb.Method   `json:"energy_kind"`
	InTotal       bool          `json:"in_total"`
	TotalJ        report.Joules `json:"energy_j"`
	RanksJ        report.Joules `json:"ranks_energy_j"`
	OtherJ        report.Joules `json:"other_energy_j"`
	IdleJ         report.Joules `json:"idle_energy_j"`
	OwnJ          report.Joules `json:"cg_energy_j"`
	UnattributedJ report.Joules `json:"unattributed_energy_j"`
}

// Clock bounds the clock of the reference less that of the node, over the run. Lo and Hi
// are null where nothing bounds it.
type Clock struct {
	Reference string `json:"reference"` // "" for the reference itself
	Method    string `json:"method"`
	LoNs      *int64 `json:"lo_ns"`
	HiNs      *int64 `json:"hi_ns"`
}

// Sample is the power of a node since the sample before.
type Sample struct {
	UnixNs int64   `json:"unix_ns"` // by the clock of the node
	PowerW float64 `json:"power_w"`
}

// Rank is one rank.
type Rank struct {
	Rank          int            `json:"rank"`
	Node          string         `json:"node"`
	LocalRank     int            `json:"local_rank"`
	State         string         `json:"state"` // ended, or running for one that was killed
	Report        bool           `json:"report"`
	ExitStatus    int            `json:"exit_status"`
	Signal        string         `json:"signal,omitempty"`
	Moved         bool           `json:"moved,omitempty"` // the processors that it might use changed
	StartedUnixNs int64          `json:"started_unix_ns"`
	DurationS     *float64       `json:"duration_s"`
	CPUTimeS      float64        `json:"cpu_time_s"`
	EnergyJ       *report.Joules `json:"energy_j"` // its share
	*ShareBounds  `schema:"optional"`
	MPITimeS      *float64       `json:"mpi_time_s"`
	MPIEnergyJ    *report.Joules `json:"mpi_energy_j"`
}

// ShareBounds bound the share of a rank, with the doubt of the counters and of dividing; nil where
// the share is not known. Documents of the schema before have none.
type ShareBounds struct {
	EnergyLoJ *report.Joules `json:"energy_lo_j"`
	EnergyHiJ *report.Joules `json:"energy_hi_j"`
}

// Function is what a function used over all ranks.
type Function struct {
	Name             string         `json:"name"`
	File             string         `json:"file"`
	Line             int            `json:"line"`
	Language         string         `json:"language"`
	Kind             string         `json:"kind"`
	Ranks            int            `json:"ranks"` // that called it
	Calls            uint64         `json:"calls"`
	SelfEnergyJ      *report.Joules `json:"self_energy_j"`
	SelfEnergyLoJ    *report.Joules `json:"self_energy_lo_j"`
	SelfEnergyHiJ    *report.Joules `json:"self_energy_hi_j"`
	InclusiveEnergyJ *report.Joules `json:"inclusive_energy_j"`
	SelfTimeS        float64        `json:"self_time_s"`
	InclusiveTimeS   float64        `json:"inclusive_time_s"`
	CPUTimeS         float64        `json:"cpu_time_s"`
	// MeanTimeS, MaxTimeS and Imbalance are of the self time of a rank, over all ranks
	// with a report, those that did not call it, too.
	MeanTimeS float64  `json:"mean_time_s"`
	MaxTimeS  float64  `json:"max_time_s"`
	MaxRank   int      `json:"max_rank"`
	Imbalance *float64 `json:"imbalance"`
	// CallsTime is of the calls of CallsTimeRanks ranks together: those whose reports tell it.
	CallsTime      *report.CallsTime `json:"calls_time,omitempty"`
	CallsTimeRanks int               `json:"calls_time_ranks,omitempty"`
}

// MPI is what the ranks spent in a function of MPI.
type MPI struct {
	Function  string        `json:"function"`
	Ranks     int           `json:"ranks"`
	Calls     uint64        `json:"calls"`
	TimeS     float64       `json:"time_s"`
	CPUTimeS  float64       `json:"cpu_time_s"`
	EnergyJ   report.Joules `json:"energy_j"`
	MaxTimeS  float64       `json:"max_time_s"`
	MaxRank   int           `json:"max_rank"`
	MeanTimeS float64       `json:"mean_time_s"` // of the ranks that called it
}

// Heat is what each rank used in a function itself, in the order of Ranks: null for a
// rank without a report. The dearest functions have one each.
type Heat struct {
	Function int       `json:"function"` // index in Functions
	EnergyUj []*uint64 `json:"self_energy_uj"`
	TimeUs   []*uint64 `json:"self_time_us"`
}

// Hole is a part of the run of which something is not known.
type Hole struct {
	Kind  string `json:"kind"`
	Node  string `json:"node"`
	Rank  int    `json:"rank"`            // the first of several; -1 for a hole of a node
	Ranks string `json:"ranks,omitempty"` // of several: 0-3,7
	Text  string `json:"text"`
}

// Warn adds a warning.
func (d *Run) Warn(slug, message string) {
	d.Warnings = append(d.Warnings, report.Warning{Slug: slug, Message: message})
}
