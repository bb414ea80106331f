// Package report holds what a run measured and writes it in any format.
//
// It takes a Run, fresh or read from JSON. Every figure has its unit in its name. An energy
// also has its interval, its kind, its method and its source. An unknown value is null,
// never 0.
package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cg/footprint"
	"cg/nemb"
	"cg/runtimes/sdk/spec"
	"cg/shown"
)

// SchemaVersion changes when a field is renamed or removed.
const SchemaVersion = spec.SchemaVersion

// Joules is an energy in whole microjoules that reads and writes itself as
// joules with six decimals, so that sums over a report stay exact.
type Joules nemb.Energy

// MarshalJSON writes joules.
func (j Joules) MarshalJSON() ([]byte, error) {
	b := strconv.AppendUint(make([]byte, 0, 20), uint64(j/1e6), 10)
	b = append(b, '.')
	// The digits of a million and so many microjoules, without the one in front.
	at := len(b)
	b = strconv.AppendUint(b, uint64(1e6+j%1e6), 10)
	return append(b[:at], b[at+1:]...), nil
}

// UnmarshalJSON reads joules.
func (j *Joules) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Errorf("report: %q is not an energy in joules", b)
	}
	*j = Joules(math.Round(f * 1e6))
	return nil
}

// Float returns joules.
func (j Joules) Float() float64 { return float64(j) * 1e-6 }

// Value is an energy in joules, nil where it is not known.
func Value(j *Joules) *float64 {
	if j == nil {
		return nil
	}
	v := j.Float()
	return &v
}

// Provenance says what an energy is worth.
type Provenance struct {
	LoJ    *Joules     `json:"energy_lo_j"`
	HiJ    *Joules     `json:"energy_hi_j"`
	Kind   nemb.Method `json:"energy_kind"`
	Method string      `json:"energy_method"`
	Source string      `json:"energy_source,omitempty"`
}

// Run is everything about one measured run: the envelope meta, tasks, totals,
// and what a launcher adds to it.
type Run struct {
	Meta      Meta       `json:"meta"`
	Tasks     []Task     `json:"tasks"`
	Totals    Totals     `json:"totals"`
	Functions []Function `json:"functions"`
	Sites     []Site     `json:"sites"`
	Paths     []Path     `json:"paths"`
	Ledger    []Line     `json:"ledger"`
	Samples   []Sample   `json:"samples"`
	Process   Process    `json:"process"`
	Sampler   Sampler    `json:"sampler"`
	Channel   Channel    `json:"channel"`
	LongCalls []LongCall `json:"long_calls,omitempty"`
	Threads   []Thread   `json:"threads,omitempty"`
	Events    *EventLog  `json:"event_log,omitempty"`
	// StackSampling is set where the program has no checkpoints and was looked at from outside:
	// then no calls are known.
	StackSampling *StackSampling `json:"stack_sampling,omitempty"`
	// InnerSampling is set where the program has checkpoints and was looked at from outside, too: functions have Inner.
	InnerSampling *StackSampling `json:"inner_sampling,omitempty"`
	// PlacesOf says of which functions lines or blocks are told, where that was not asked of all.
	PlacesOf *PlacesOf `json:"places_of,omitempty"`
	Skipped  []Skip    `json:"skipped"`
	Warnings []Warning `json:"warnings"`
	Baseline *Baseline `json:"baseline,omitempty"`
	Idle     *Idle     `json:"idle_power,omitempty"`
	// GPUs says whose their energy is; nil without GPUs whose driver can be asked.
	GPUs *GPUs `json:"gpus,omitempty"`
	// GPUMetrics are performance counters of GPUs (--gpu-metrics).
	GPUMetrics *GPUMetrics `json:"gpu_metrics,omitempty"`
	// MachineState is what the machine was like around the run. An older cg did not tell.
	MachineState *MachineState `json:"machine_state,omitempty"`
	// Sources are the files of its functions, where they were kept.
	Sources []Source `json:"sources,omitempty"`
	// Footprint is what the machine's energy comes to, where that was asked for.
	Footprint *footprint.Footprint `json:"footprint,omitempty"`
	PerCall   []PerCall            `json:"per_call,omitempty"` // of functions that --per names
	// SHA256 is the digest of this run's JSON without spaces and with "" here:
	// it tells whether the file is as it was written.
	SHA256  string `json:"sha256"`
	started time.Time
	// part names the format of a file that told tasks and samples and nothing else.
	part string
	// undivided is set where the program's energies are the machine's: see Undivided.
	undivided bool
	// asWritten is the digest of what was read, where that was of an older schema.
	asWritten *string
	// unknownSites counts the costs of sites that do not exist.
	unknownSites int
}

// Meta identifies the run and its surroundings.
type Meta struct {
	SchemaVersion string `json:"schema_version"`
	Tool          string `json:"tool"`
	CgVersion     string `json:"cg_version"`
	// CodegreenVersion is CgVersion again, under the name that a session's file has;
	// NembABIVersion is the version of the ring of samples. An older cg told neither.
	CodegreenVersion string            `json:"codegreen_version,omitempty"`
	NembABIVersion   *int              `json:"nemb_abi_version,omitempty"`
	RunID            string            `json:"run_id"`
	SessionName      *string           `json:"session_name"`
	StartedAt        string            `json:"started_at"` // RFC 3339, UTC
	EndedAt          string            `json:"ended_at"`
	StartedAtLocal   string            `json:"started_at_local"`
	EndedAtLocal     string            `json:"ended_at_local"`
	HostTimezone     string            `json:"host_timezone"`
	DurationTotalS   float64           `json:"duration_total_s"`
	Hostname         string            `json:"hostname"`
	PID              int               `json:"pid"`
	Platform         string            `json:"platform"`
	Language         string            `json:"language"`
	LanguageVersion  string            `json:"language_version"`
	PythonVersion    string            `json:"python_version,omitempty"`
	CPUModel         string            `json:"cpu_model"`
	Kernel           string            `json:"kernel"`
	Cwd              string            `json:"cwd"`
	Argv             []string          `json:"argv"`
	CgEnv            map[string]string `json:"codegreen_env"`
	Granularity      string            `json:"granularity"`
	// MeasurementQuality is ok, estimated, no_tasks, no_backend, energy_zero,
	// checkpoints_only or failed (see the constants).
	MeasurementQuality string `json:"measurement_quality"`
	// DomainSupport is full, scalar_only or none.
	DomainSupport      string              `json:"domain_support"`
	OutlierMethod      string              `json:"outlier_method"`
	IsoTimestampFormat string              `json:"iso_timestamp_format"`
	DomainTopology     map[string]Topology `json:"domain_topology"`
	Timeseries         *Timeseries         `json:"timeseries,omitempty"`
	// PythonImplementation is set for one that is not CPython.
	PythonImplementation string `json:"python_implementation,omitempty"`
	// PythonFreeThreaded is set for a CPython without a global lock.
	PythonFreeThreaded bool `json:"python_free_threaded,omitempty"`
}

// Topology is the place of a domain among the others.
type Topology = nemb.Place

// Task is a named span of the run, of which measure has the program and its tests. Its
// energy is the machine's while it ran; tasks that overlap share that.
type Task struct {
	Name            string             `json:"name"`
	Depth           int                `json:"depth"`
	Parent          *string            `json:"parent"`
	EnergyJ         *Joules            `json:"energy_j"`
	AvgPowerW       *float64           `json:"avg_power_w"`
	DurationS       float64            `json:"duration_s"` // without SuspendedS
	StartedAt       float64            `json:"started_at"` // Unix time
	EndedAt         float64            `json:"ended_at"`
	StartedAtMonoNs int64              `json:"started_at_mono_ns"`
	EndedAtMonoNs   int64              `json:"ended_at_mono_ns"`
	Domains         map[string]Joules  `json:"domains"`
	DomainsPowerW   map[string]float64 `json:"domains_power_w"`
	// Package is where a test or a benchmark is at home, where names are not
	// unique without; Iterations is how often a benchmark did what it measures.
	Package    *string `json:"package"`
	Iterations *uint64 `json:"iterations"`
	// SuspendedS is how long a test waited for others between its start and its end
	// (testing.T.Parallel): its energies and its power are of the rest.
	SuspendedS float64 `json:"suspended_s,omitempty"`
	// Outlived tells that a parallel subtest of a Go test, or a goroutine until the program's
	// end, ran on after its end: its program's share is of a longer time than DurationS.
	Outlived bool `json:"outlived,omitempty"`
	// Status is how a test ended, where its runner's report is read: passed,
	// failed, error or skipped, the worst of Runs runs.
	Status string `json:"status,omitempty"`
	Runs   int    `json:"runs,omitempty"`
	Noise  *Noise `json:"noise,omitempty"`
	// Timeseries are the run's samples between the task's start and end, where that was
	// asked for (Meta.Timeseries).
	Timeseries []Sample `json:"timeseries,omitempty"`
	// Gauges is what gauges showed during a task of a session, by name, where it recorded them.
	Gauges map[string]Gauge `json:"gauges,omitempty"`
	Units  []Unit           `json:"units,omitempty"` // of work that a task of a session counted
	GPUs   []TaskGPU        `json:"gpus,omitempty"`  // whose the energy of GPUs was in a task of a session
	Provenance
	*ProgramShare `schema:"optional"`

	again             bool      // it ran several times: its time is the sum, and it has no one end
	stretches         []stretch // when a range of NVTX ran, in their order and apart; nil for a task that ran once
	paused, continued int64     // CLOCK_MONOTONIC, ns: between these it waited for others; equal where it did not
}

// Totals is the machine's energy while the program ran; the ledger says whose
// it was.
type Totals struct {
	EnergyJ *Joules `json:"energy_j"`
	Provenance
	ProgramEnergyJ       *Joules            `json:"program_energy_j"`
	ProgramEnergyLoJ     *Joules            `json:"program_energy_lo_j"`
	ProgramEnergyHiJ     *Joules            `json:"program_energy_hi_j"`
	AvgPowerW            *float64           `json:"avg_power_w"`
	DurationS            float64            `json:"duration_s"`
	WallDurationS        float64            `json:"wall_duration_s"`
	TaskDurationS        float64            `json:"task_duration_s"`
	GapDurationS         float64            `json:"gap_duration_s"`
	ConcurrentOverlapS   float64            `json:"concurrent_overlap_s"`
	NTasks               int                `json:"n_tasks"`
	NTopLevelTasks       int                `json:"n_top_level_tasks"`
	Domains              map[string]Joules  `json:"domains"`
	DomainsPowerW        map[string]float64 `json:"domains_power_w"`
	SampleIntervalMs     float64            `json:"sample_interval_ms"`
	WorstWithinTaskCVPct *float64           `json:"worst_within_task_power_cv_percent"`
	NoiseWarnings        []NoiseWarning     `json:"noise_warnings"`
	Noise                *Noise             `json:"noise,omitempty"`
	NoiseLimits          *NoiseLimits       `json:"noise_limits,omitempty"`
	Units                []Unit             `json:"units,omitempty"` // of work that all tasks of a session counted
	Hours                *Hours             `json:"hours,omitempty"` // nil in files of sessions, and of an older cg
}

// Function is what one function used. Self is without what it called,
// inclusive is with it; a recursive call counts once.
type Function struct {
	Name               string      `json:"name"`
	File               string      `json:"file"`
	Line               int         `json:"line"`
	Language           string      `json:"language"`
	Kind               string      `json:"kind"`
	Calls              uint64      `json:"calls"`
	Demoted            bool        `json:"demoted,omitempty"` // of an older cg: some of its calls are on no path
	SelfEnergyJ        *Joules     `json:"self_energy_j"`
	SelfEnergyLoJ      *Joules     `json:"self_energy_lo_j"`
	SelfEnergyHiJ      *Joules     `json:"self_energy_hi_j"`
	InclusiveEnergyJ   *Joules     `json:"inclusive_energy_j"`
	InclusiveEnergyLoJ *Joules     `json:"inclusive_energy_lo_j"`
	InclusiveEnergyHiJ *Joules     `json:"inclusive_energy_hi_j"`
	EnergyKind         nemb.Method `json:"energy_kind"`
	EnergyMethod       string      `json:"energy_method"`
	EnergySource       string      `json:"energy_source,omitempty"`
	// Unresolved says why the data do not tell its part: too little time,
	// collinear, not told apart from the noise, no sensor; empty where it is not.
	// UnresolvedWith are the functions that are told only together with it.
	Unresolved     string       `json:"unresolved"`
	UnresolvedWith []string     `json:"unresolved_with,omitempty"`
	CallsEnergy    *CallsEnergy `json:"calls_energy"`
	CallsTime      *CallsTime   `json:"calls_time,omitempty"` // none where no call was timed
	CallsCut       uint64       `json:"calls_cut"`            // whose end nobody saw: they end at the last known moment
	SelfTimeS      float64      `json:"self_time_s"`
	InclusiveTimeS float64      `json:"inclusive_time_s"`
	// SelfTimeDoubtS is by how much SelfTimeS may be off (95 %), where calls were counted
	// and not all of them timed.
	SelfTimeDoubtS float64 `json:"self_time_doubt_s,omitempty"`
	// StackSamples is how often it was seen on a processor, itself, where the program was looked
	// at from outside, and StackSamplesInclusive itself or what it called. SamplingDoubtPercent
	// is by how much SelfEnergyJ may be off by the chance of these (95 %), in percent of it.
	StackSamples          uint64            `json:"stack_samples,omitempty"`
	StackSamplesInclusive uint64            `json:"stack_samples_inclusive,omitempty"`
	SamplingDoubtPercent  *float64          `json:"sampling_doubt_percent,omitempty"`
	CPUTimeS              float64           `json:"cpu_time_s"`
	SuspendedS            float64           `json:"suspended_s"`
	AvgPowerW             *float64          `json:"avg_power_w"`   // self energy over self time
	SharePercent          *float64          `json:"share_percent"` // of the program's energy
	Verdict               Verdict           `json:"verdict,omitempty"`
	Domains               map[string]Joules `json:"domains"`
	// Places are the lines or blocks of its code, in the order of lines; the last is the rest.
	Places []Place `json:"places,omitempty"`
	// InnerSamples is how often it was seen on a processor, itself or in what it called without checkpoints, and Inner
	// are those of the latter (cg measure --inner). The rest of the samples is itself.
	InnerSamples int             `json:"inner_samples,omitempty"`
	Inner        []InnerFunction `json:"inner,omitempty"`
}

// CallsEnergy is what a call of a function used, with what it called. Single
// calls are told where they took 20 periods of the counter or more.
type CallsEnergy struct {
	MeanJ   float64 `json:"mean_j"` // of all calls: inclusive energy by calls, as its interval
	MeanLoJ float64 `json:"mean_lo_j"`
	MeanHiJ float64 `json:"mean_hi_j"`
	N       uint64  `json:"n"` // calls that are told one by one
	MinJ    *Joules `json:"min_j"`
	MedianJ *Joules `json:"median_j"`
	P95J    *Joules `json:"p95_j"`
	MaxJ    *Joules `json:"max_j"`
	Method  string  `json:"method,omitempty"` // of those
}

// Site is a place with checkpoints, called or not.
type Site struct {
	ID       uint32 `json:"id"`
	Name     string `json:"name"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	EndLine  int    `json:"end_line"`
	Kind     string `json:"kind"`
	Language string `json:"language"`
	// TextID is a digest of the source text, without the function's own name; none
	// for a site that was not called and where the text could not be read.
	TextID string `json:"text_id,omitempty"`
	Calls  uint64 `json:"calls"`
}

// Path is a call path: a site that was called from another path. The self
// energies of all paths are those of functions and of what is uninstrumented.
type Path struct {
	// Parent is the index of the caller's path, which stands before this one; -1
	// for the first, which is what the program used outside its functions.
	Parent int `json:"parent"`
	// Site is 0 in the first path, and in one that stands for further paths
	// below its parent, each smaller than those that are told.
	Site uint32 `json:"site"`
	// Task is the name of a path that is a task and no site.
	Task        string  `json:"task,omitempty"`
	Calls       uint64  `json:"calls"`
	SelfEnergyJ *Joules `json:"self_energy_j"`
	SelfTimeS   float64 `json:"self_time_s"`
	CPUTimeS    float64 `json:"cpu_time_s"`
	// Domains is SelfEnergyJ per domain of the total, where there are several.
	Domains map[string]Joules `json:"domains,omitempty"`
}

// Line is a line of the ledger. The lines add up to Totals.EnergyJ.
type Line struct {
	Name         string            `json:"name"`
	EnergyJ      Joules            `json:"energy_j"`
	SharePercent float64           `json:"share_percent"`
	Domains      map[string]Joules `json:"domains"`
	// Source is how the power of the idle line was found (nemb.IdleMethod), where no model
	// tells it.
	Source string `json:"source,omitempty"`
}

// Counter is what happened to the counter of a domain.
type Counter struct {
	Domain   string  `json:"domain"`
	Wraps    int     `json:"wraps"`
	Failed   int     `json:"failed"`
	Resets   int     `json:"resets"`
	Laps     int     `json:"laps"`
	UnknownS float64 `json:"unknown_s"`        // time whose energy no reading tells
	LateS    float64 `json:"late_s,omitempty"` // time whose energy a later reading told as a sum
	StillS   float64 `json:"still_s"`          // the longest time without a movement
	// State is "failed" for one that did not answer any more, or never did.
	State    string  `json:"state,omitempty"`
	SlowestS float64 `json:"slowest_read_s,omitempty"` // of readings that took longer than samples wait
}

// Channel is what the checkpoints did.
type Channel struct {
	Clock     string `json:"clock"`
	Native    bool   `json:"native"`
	Events    uint64 `json:"events"`
	Lost      uint64 `json:"lost"`
	Waits     uint64 `json:"waits"`
	Adders    int    `json:"adders,omitempty"` // of an older cg: threads that added up themselves
	Threads   int    `json:"threads"`
	Unwound   uint64 `json:"unwound"`
	OpenAtEnd uint64 `json:"open_at_end"`
	Backwards uint64 `json:"backwards"`
	// Cost is what the checkpoints took from the program, where its runtime has
	// measured it. It is in the ledger's line of their own, and in no function.
	Cost *CheckpointCost `json:"cost,omitempty"`
	// Runtime is what cg's runtime in the program took besides. It is in the ledger's line of cg.
	Runtime *RuntimeCost `json:"runtime,omitempty"`
}

// RuntimeCost is the time and energy of cg's runtime in the program outside checkpoints: it adds checkpoints to what
// the program loads.
type RuntimeCost struct {
	TimeS    float64 `json:"time_s"` // of the program's threads
	CPUTimeS float64 `json:"cpu_time_s"`
	EnergyJ  *Joules `json:"energy_j"` // null where the program's energy is not known by function
}

// CheckpointCost is the time and energy of checkpoints.
type CheckpointCost struct {
	EventNs  float64 `json:"event_ns"` // the mean of one
	TimeS    float64 `json:"time_s"`   // of their threads
	CPUTimeS float64 `json:"cpu_time_s"`
	EnergyJ  *Joules `json:"energy_j"`
	// Where checkpoints have a budget, a part of the program's time in percent: what an event
	// costs that is timed, and one that is counted, and how many were counted.
	BudgetPercent float64 `json:"budget_percent,omitempty"`
	TimedNs       float64 `json:"timed_ns,omitempty"`
	CountedNs     float64 `json:"counted_ns,omitempty"`
	Counted       uint64  `json:"counted_events,omitempty"`
}

// Skip is a file that ran without checkpoints.
type Skip struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Warning says what was seen, why it matters, and what to do. Its slug is a
// heading in docs/messages.md.
type Warning struct {
	Slug    string `json:"slug"`
	Message string `json:"message"`
}

// JSON encodes a run, with its digest.
func (r *Run) JSON() ([]byte, error) {
	b, digest, err := r.sealed()
	if err != nil {
		return nil, err
	}
	r.SHA256 = digest
	at := bytes.LastIndex(b, []byte(unsealed))
	b = slices.Insert(b, at+len(unsealed)-len(`"}`), []byte(digest)...)
	var out bytes.Buffer
	out.Grow(len(b) + len(b)/2)
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return shown.JSON(out.Bytes()), nil
}

// unsealed is how a run ends whose digest is not in it yet.
const unsealed = `"sha256":""}`

// sealed is the JSON of a run without spaces and without its digest, and the
// digest.
func (r *Run) sealed() ([]byte, string, error) {
	var b bytes.Buffer
	if err := r.seal(&b); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(sum[:]), nil
}

// seal writes the JSON of a run without spaces and without its digest, as
// encoding/json does, with no more of it in memory than an element of a list.
func (r *Run) seal(w io.Writer) error {
	plain := *r
	plain.SHA256 = ""
	var piece bytes.Buffer
	e := json.NewEncoder(&piece)
	e.SetEscapeHTML(false)
	put := func(before string, v reflect.Value) error {
		piece.Reset()
		if err := e.Encode(v.Interface()); err != nil {
			return err
		}
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		_, err := w.Write(bytes.TrimSuffix(piece.Bytes(), []byte("\n")))
		return err
	}
	before := "{"
	for v, i := reflect.ValueOf(&plain).Elem(), 0; i < v.NumField(); i++ {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		f := v.Field(i)
		list := f.Kind() == reflect.Slice
		if name == "" || options == "omitempty" && (list && f.Len() == 0 || f.Kind() == reflect.Pointer && f.IsNil()) {
			continue
		}
		before += strconv.Quote(name) + ":"
		if !list || f.Len() == 0 {
			if err := put(before, f); err != nil {
				return err
			}
			before = ","
			continue
		}
		before += "["
		for k := range f.Len() {
			if err := put(before, f.Index(k)); err != nil {
				return err
			}
			before = ","
		}
		before = "],"
	}
	_, err := io.WriteString(w, strings.TrimSuffix(before, ",")+"}")
	return err
}

// digest is what SHA256 is to be.
func (r *Run) digest() (string, error) {
	h := sha256.New()
	err := r.seal(h)
	return hex.EncodeToString(h.Sum(nil)), err
}

// loose is how texts are read: names may stand twice, of which the last counts,
// and bytes may be no UTF-8, as encoding/json takes them.
var loose = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Decode decodes a document as it is read. An error says where it is.
func Decode(f io.ReadSeeker, v any, more ...jsonv2.Options) error {
	if err := jsonv2.UnmarshalRead(f, v, append(more, loose...)...); err != nil {
		// The words for it are those of encoding/json, which wants all of the text.
		return cmp.Or(decodeOnce(f, reflect.New(reflect.TypeOf(v).Elem()).Interface()), err)
	}
	return nil
}

// decodeOnce decodes a text that is small, or is known to be at fault.
func decodeOnce(f io.ReadSeeker, v any) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return Located(b, err)
	}
	return nil
}

// Read decodes a run and refuses what is none, or is of another schema.
func Read(b []byte) (*Run, error) { return ReadFrom(bytes.NewReader(b)) }

// ReadFrom is Read for a text that need not be in memory: it is decoded as it is
// read.
func ReadFrom(f io.ReadSeeker) (*Run, error) {
	if r, err := ReadBlocks(f); r != nil || err != nil {
		return r, err
	}
	head, err := HeadOf(f)
	switch {
	case err != nil:
		return nil, err
	case head.Holds["measurements"] || head.Holds["command"]:
		return nil, errors.New("not a single run of cg measure: it has the figures of repeated runs, which " +
			"cg report, cg compare and cg verify read")
	case head.Holds["ranks"] && head.Holds["nodes"]:
		return nil, errors.New("not a run of cg measure: it is a run of many ranks, which cg report, cg compare and " +
			"cg verify read")
	case head.Holds["comparison"]:
		return nil, errors.New("not a saved run: it is what cg compare wrote")
	}
	if head.Session {
		return readSession(f)
	}
	r := &Run{}
	if err := Decode(f, r); err != nil {
		return nil, fmt.Errorf("not a saved run: %w", err)
	}
	for i, p := range r.Paths {
		switch {
		case p.Parent >= i || (p.Parent < 0) != (i == 0):
			return nil, fmt.Errorf("paths[%d].parent: %d is no path before it", i, p.Parent)
		case (p.SelfEnergyJ == nil) != (r.Totals.ProgramEnergyJ == nil || !r.byFunction()):
			return nil, fmt.Errorf("paths[%d].self_energy_j: energies of call paths and of the program are known "+
				"together or not at all", i)
		}
	}
	r.Renew()
	return r, nil
}
