package report

// Process is how the program ended and what it used.
type Process struct {
	ExitStatus int     `json:"exit_status"` // what cg exits with
	ExitCode   *int    `json:"exit_code"`
	Signal     *string `json:"signal"`
	TimedOut   bool    `json:"timed_out"`
	// Running tells that the program had not ended when this was written: it ran before, or cg had been
	// asked to end, and ExitStatus is 128 and the signal that asked.
	Running   bool    `json:"running,omitempty"`
	UserS     float64 `json:"user_s"`
	SystemS   float64 `json:"system_s"`
	MaxRSSB   *int64  `json:"max_rss_bytes"`
	CPUMethod string  `json:"cpu_method"` // how the process tree was followed
	PIDsLeft  []int   `json:"pids_left"`
	IO        *IO     `json:"io,omitempty"` // nil where the kernel does not tell
}

// Sampler is what the measuring itself did.
type Sampler struct {
	IntervalMs      float64   `json:"interval_ms"`
	Mechanism       string    `json:"mechanism"`
	Samples         int       `json:"samples"`
	MissedDeadlines int       `json:"missed_deadlines"`
	Gaps            int       `json:"gaps"`         // windows of more than two intervals, or with a failed reading
	FailedReads     int       `json:"failed_reads"` // samples in which a reading failed
	Dropped         int       `json:"dropped"`
	SlowReads       int       `json:"slow_reads"` // samples that took more than 50 us
	Realtime        bool      `json:"realtime"`
	OwnCPUS         float64   `json:"own_cpu_s"`
	EnergyJ         *Joules   `json:"energy_j"` // the sampler's part of the ledger's line "cg"
	Counters        []Counter `json:"counters"`
	// Ages is how old the readings are that samples show: of processor times first, then by domain. An older cg told
	// none.
	Ages []Age `json:"ages,omitempty"`
}

// Age is how old the readings of one source are, over the samples of a run (nemb/sampler.Age).
type Age struct {
	// Of is a domain, or AgeOfTimes.
	Of       string  `json:"of"`
	MedianMs float64 `json:"median_ms"`
	P95Ms    float64 `json:"p95_ms"`
	MaxMs    float64 `json:"max_ms"`
	// KernelMs is by how much the kernel's own time of a running thread may be behind besides; it is of AgeOfTimes.
	KernelMs float64 `json:"kernel_late_ms,omitempty"`
}

// AgeOfTimes is Age.Of where it is of the processor times of the program, of cg and of everyone else.
const AgeOfTimes = "processor_time"
