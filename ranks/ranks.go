// Package ranks holds what a run of many ranks leaves: a folder with a file for each rank
// and each node (FORMAT.md). It tells which rank a process is from the variables of its
// launcher (Identify), writes the folder (Create) and reads it (Open). It measures
// nothing and knows no report: that of a rank is a file to it.
package ranks

// Version is that of the folder's layout and of each file in it.
const Version = 1

// Marker is cg-ranks.json: what the folder is.
type Marker struct {
	Format        int    `json:"format"`
	CgVersion     string `json:"cg_version"`
	Job           string `json:"job"`
	Size          int    `json:"size"` // 0 where the launcher does not tell it
	CreatedUnixNs int64  `json:"created_unix_ns"`
}

// Identity tells which rank a process is.
type Identity struct {
	Rank      int    `json:"rank"`
	Size      int    `json:"size"`       // 0: not known
	LocalRank int    `json:"local_rank"` // on its node; -1: not known
	LocalSize int    `json:"local_size"` // 0: not known
	Node      string `json:"node"`
	Job       string `json:"job"`
	Step      string `json:"step,omitempty"`
	Task      string `json:"task,omitempty"`      // index in an array job
	Component string `json:"component,omitempty"` // of a heterogeneous job
	Launcher  string `json:"launcher"`            // one of the constants
}

// Launchers that Identify knows.
const (
	OpenMPI    = "openmpi"
	MPICH      = "mpich"
	Slurm      = "slurm"
	Torchrun   = "torchrun"
	Kubernetes = "kubernetes"
	Ray        = "ray"
	Named      = "cg" // CG_RANK
	Nobody     = "none"
)

// States of ranks, in their own files and in their nodes' records.
const (
	Running = "running"
	Ended   = "ended"   // in ranks/NNNNNN.json
	Settled = "settled" // in a node's record: ended, and the share is final
	Lost    = "lost"    // in a node's record: killed
)

// Rank is ranks/NNNNNN.json.
type Rank struct {
	Format    int    `json:"format"`
	CgVersion string `json:"cg_version"`
	Identity
	Hostname      string            `json:"hostname"`
	BootID        string            `json:"boot_id"`
	PID           int               `json:"pid"`
	State         string            `json:"state"`
	ExitStatus    int               `json:"exit_status"`
	Signal        string            `json:"signal,omitempty"`
	StartedUnixNs int64             `json:"started_unix_ns"`
	StartedMonoNs int64             `json:"started_mono_ns"`
	EndedUnixNs   int64             `json:"ended_unix_ns"`
	EndedMonoNs   int64             `json:"ended_mono_ns"`
	CPUs          []int             `json:"cpus"`
	CPUsEnd       []int             `json:"cpus_end,omitempty"`
	Record        string            `json:"record"`
	ShareUj       map[string]uint64 `json:"share_uj"`
	Settled       bool              `json:"settled"`
	CPUNs         int64             `json:"cpu_ns"`
	Run           string            `json:"run"`
	MPI           []MPICalls        `json:"mpi,omitempty"`
	Slurm         *SlurmStep        `json:"slurm,omitempty"`
	Warnings      []Warning         `json:"warnings"`
}

// MPICalls is what a rank spent in one function of MPI.
type MPICalls struct {
	Function string `json:"function"`
	Calls    uint64 `json:"calls"`
	TimeNs   int64  `json:"time_ns"`   // by the clock
	CPUNs    int64  `json:"cpu_ns"`    // processor time of the calling threads
	EnergyUj uint64 `json:"energy_uj"` // the part of the rank's share, by processor time
}

// SlurmStep is what Slurm's accounting tells of a job step.
type SlurmStep struct {
	JobID  string `json:"job_id"`
	StepID string `json:"step_id"`
	// ConsumedEnergyJ is sacct's ConsumedEnergyRaw of the whole step, nil where Slurm
	// does not gather energy.
	ConsumedEnergyJ *float64 `json:"consumed_energy_j"`
	Source          string   `json:"source"` // what was asked, or why nothing is known
}

// Warning is as in a report; its slug has a heading in docs/messages.md.
type Warning struct {
	Slug    string `json:"slug"`
	Message string `json:"message"`
}

// Node is nodes/NAME-TOKEN.json: the counters of a node and their division.
type Node struct {
	Format        int        `json:"format"`
	CgVersion     string     `json:"cg_version"`
	Node          string     `json:"node"`
	Record        string     `json:"record"`
	Hostname      string     `json:"hostname"`
	BootID        string     `json:"boot_id"`
	CPUModel      string     `json:"cpu_model"`
	CPUs          int        `json:"cpus"`
	IntervalNs    int64      `json:"interval_ns"`
	Measurers     []Measurer `json:"measurers"`
	StartedUnixNs int64      `json:"started_unix_ns"`
	StartedMonoNs int64      `json:"started_mono_ns"`
	EndedUnixNs   int64      `json:"ended_unix_ns"` // 0 until all ranks have left
	UpdatedUnixNs int64      `json:"updated_unix_ns"`
	UpdatedMonoNs int64      `json:"updated_mono_ns"`
	Domains       []Domain   `json:"domains"`
	Ranks         []Share    `json:"ranks"`
	Samples       []Sample   `json:"samples"`
	Offsets       []Offset   `json:"offsets"`
	Holes         []Hole     `json:"holes"`
	Warnings      []Warning  `json:"warnings"`
}

// Measurer is a process that sampled a node's counters.
type Measurer struct {
	PID           int   `json:"pid"`
	StartedUnixNs int64 `json:"started_unix_ns"`
	EndedUnixNs   int64 `json:"ended_unix_ns"` // its last sample; 0 while it measures
}

// Domain is a domain of a node with its ledger:
// TotalUj = RanksUj + OtherUj + IdleUj + CgUj + UnattributedUj.
type Domain struct {
	ID             string  `json:"id"`
	Parent         string  `json:"parent"`
	Kind           string  `json:"kind"`
	Source         string  `json:"source"`
	Method         string  `json:"method"` // nemb.Method
	InTotal        bool    `json:"in_total"`
	Lo             float64 `json:"lo"` // bounds of the energy, as factors
	Hi             float64 `json:"hi"`
	TotalUj        uint64  `json:"total_uj"`
	RanksUj        uint64  `json:"ranks_uj"`
	OtherUj        uint64  `json:"other_uj"`
	IdleUj         uint64  `json:"idle_uj"`
	CgUj           uint64  `json:"cg_uj"`
	UnattributedUj uint64  `json:"unattributed_uj"`
	// GPUMethod is how the energy of a GPU was divided, "" for other domains, and in records of an older cg.
	GPUMethod string `json:"gpu_method,omitempty"`
}

// How the energy of a GPU was divided among ranks.
const (
	GPUByProcess    = "process" // by what its driver tells of processes
	GPUUnattributed = "unattributed"
)

// Share is a rank's part of its node's domains, in their order.
type Share struct {
	Rank    int      `json:"rank"`
	PID     int      `json:"pid"`
	State   string   `json:"state"` // Running, Settled or Lost
	CPUNs   int64    `json:"cpu_ns"`
	ShareUj []uint64 `json:"share_uj"`
	// LessUj and MoreUj are by how much each share may be less and more, because processor
	// times are older than the windows that they divide; empty where that is not known.
	LessUj []uint64 `json:"less_uj,omitempty"`
	MoreUj []uint64 `json:"more_uj,omitempty"`
}

// Sample is the state of a node at a moment, cumulative since the first.
type Sample struct {
	UnixNs     int64    `json:"unix_ns"`
	EnergyUj   []uint64 `json:"energy_uj"` // by domain
	RanksCPUNs int64    `json:"ranks_cpu_ns"`
	CgCPUNs    int64    `json:"cg_cpu_ns"`
	OtherCPUNs int64    `json:"other_cpu_ns"`
}

// Methods of an Offset.
const (
	ByPing   = "ping"
	ByNTP    = "ntp"
	ByNobody = "none"
)

// Offset bounds the clock of the reference less the clock of a node. Lo and Hi are nil
// where nothing bounds it.
type Offset struct {
	Reference string `json:"reference"`
	LoNs      *int64 `json:"lo_ns"`
	HiNs      *int64 `json:"hi_ns"`
	AtUnixNs  int64  `json:"at_unix_ns"` // by the clock of the node
	Method    string `json:"method"`
}

// Kinds of a Hole.
const (
	HoleMeasurer = "measurer" // nobody sampled a node's counters
	HoleRank     = "rank"     // a rank was killed, or never came
	HoleNode     = "node"     // a node's record has no end
	HoleReport   = "report"   // a rank ended and left no report
)

// Hole is a part of a run of which something is not known.
type Hole struct {
	Kind       string `json:"kind"`
	Node       string `json:"node"`
	Rank       int    `json:"rank"`            // the first of several; -1 for a hole of a node
	Ranks      string `json:"ranks,omitempty"` // of several: 0-3,7
	FromUnixNs int64  `json:"from_unix_ns"`
	ToUnixNs   int64  `json:"to_unix_ns"` // 0: to the end
	Text       string `json:"text"`
}
