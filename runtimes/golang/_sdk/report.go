package codegreen

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// What a session writes: docs/session.md of cg.

var runID = sync.OnceValue(func() string {
	b := make([]byte, 6)
	rand.Read(b)
	return hex.EncodeToString(b)
})

type timeSeriesMeta struct {
	Enabled             bool     `json:"enabled"`
	SchemaVersion       string   `json:"schema_version"`
	SampleKeys          []string `json:"sample_keys"`
	Clock               string   `json:"t_ns_clock"`
	InclusiveOfChildren bool     `json:"inclusive_of_children"`
}

type samplerMeta struct {
	Via        string   `json:"via"`
	IntervalMs *float64 `json:"interval_ms"`
	Samples    int      `json:"samples"`
	Lost       int      `json:"lost"`
	Gaps       int      `json:"gaps"`
}

type meta struct {
	SchemaVersion  string            `json:"schema_version"`
	Tool           string            `json:"tool"`
	Version        string            `json:"codegreen_version"`
	CgVersion      *string           `json:"cg_version"`
	RunID          string            `json:"run_id"`
	SessionName    string            `json:"session_name"`
	StartedAt      string            `json:"started_at"`
	EndedAt        string            `json:"ended_at"`
	StartedAtLocal string            `json:"started_at_local"`
	EndedAtLocal   string            `json:"ended_at_local"`
	Timezone       string            `json:"host_timezone"`
	Duration       float64           `json:"duration_total_s"`
	Hostname       string            `json:"hostname"`
	PID            int               `json:"pid"`
	Platform       string            `json:"platform"`
	Language       string            `json:"language"`
	LanguageVer    string            `json:"language_version"`
	CPUModel       string            `json:"cpu_model"`
	Kernel         string            `json:"kernel"`
	Cwd            string            `json:"cwd"`
	Argv           []string          `json:"argv"`
	Env            map[string]string `json:"codegreen_env"`
	Quality        string            `json:"measurement_quality"`
	Support        string            `json:"domain_support"`
	OutlierMethod  string            `json:"outlier_method"`
	TimestampForm  string            `json:"iso_timestamp_format"`
	ABI            *int              `json:"nemb_abi_version"`
	Topology       any               `json:"domain_topology"`
	Timeseries     timeSeriesMeta    `json:"timeseries"`
	Sampler        samplerMeta       `json:"sampler"`
	Gauges         *gaugesMeta       `json:"gauges,omitempty"`
}

// provenance stands beside an energy.
type provenance struct {
	Lo     *float64 `json:"energy_lo_j"`
	Hi     *float64 `json:"energy_hi_j"`
	Kind   string   `json:"energy_kind"`
	Method string   `json:"energy_method"`
	Source string   `json:"energy_source"`
}

// programShare is the program's share of an energy, with its interval.
type programShare struct {
	Program   *float64 `json:"program_energy_j"`
	ProgramLo *float64 `json:"program_energy_lo_j"`
	ProgramHi *float64 `json:"program_energy_hi_j"`
}

type taskEntry struct {
	Name      string   `json:"name"`
	Depth     int      `json:"depth"`
	Parent    *string  `json:"parent"`
	Energy    *float64 `json:"energy_j"`
	Power     *float64 `json:"avg_power_w"`
	Duration  float64  `json:"duration_s"`
	Suspended float64  `json:"suspended_s"`
	provenance
	Machine *float64 `json:"machine_energy_j"`
	programShare
	StartedAt   float64            `json:"started_at"`
	EndedAt     float64            `json:"ended_at"`
	StartedMono int64              `json:"started_at_mono_ns"`
	EndedMono   int64              `json:"ended_at_mono_ns"`
	Domains     map[string]float64 `json:"domains"`
	Powers      map[string]float64 `json:"domains_power_w"`
	Thread      int                `json:"thread"`
	Forgotten   bool               `json:"forgotten"`
	Units       []unitEntry        `json:"units"`
	GPUs        []gpuEntry         `json:"gpus,omitempty"`   // of a machine with GPUs
	Gauges      *map[string]Gauge  `json:"gauges,omitempty"` // nil without any in the session
}

type totals struct {
	Energy *float64 `json:"energy_j"`
	provenance
	programShare
	Power      *float64           `json:"avg_power_w"`
	Duration   float64            `json:"duration_s"`
	TaskTime   float64            `json:"task_duration_s"`
	Wall       float64            `json:"wall_duration_s"`
	Gap        float64            `json:"gap_duration_s"`
	Overlap    float64            `json:"concurrent_overlap_s"`
	Tasks      int                `json:"n_tasks"`
	TopLevel   int                `json:"n_top_level_tasks"`
	Domains    map[string]float64 `json:"domains"`
	Powers     map[string]float64 `json:"domains_power_w"`
	IntervalMs *float64           `json:"sample_interval_ms"`
	WorstCv    *float64           `json:"worst_within_task_power_cv_percent"`
	Noisy      []noiseWarning     `json:"noise_warnings"`
	Units      []unitEntry        `json:"units"`
}

// sample of a time series: energies since the session's start, powers of domains
// since the sample before. The machine's is the mean from the sample before to the
// one after: its integral by the trapezoidal rule is the energy.
type sample struct {
	At      int64              `json:"t_ns"`
	Energy  float64            `json:"energy_j"`
	Power   *float64           `json:"power_w"`
	DomainJ map[string]float64 `json:"domain_j"`
	DomainW map[string]float64 `json:"domain_w"`
}

// report is the session so far, without samples.
type report struct {
	meta   meta
	tasks  []taskEntry
	noises []*Noise // of tasks
	done   []*Task
	totals totals
}

func (s *Session) joules(micro int64) *float64 { return number(float64(micro) / 1e6) }

// report makes it, s.data being locked.
func (s *Session) report() *report {
	r := &report{}
	s.gauges.read()
	for _, t := range s.Tasks() {
		if t.resolved {
			r.done = append(r.done, t)
		}
	}
	for _, t := range r.done {
		r.tasks = append(r.tasks, s.entry(t))
		var n *Noise
		if s.record && len(s.source.domains) > 0 {
			n = s.noise(t)
		}
		r.noises = append(r.noises, n)
	}
	s.sum(r)
	s.describe(r)
	s.noteNoise(r.totals.Noisy)
	return r
}

func (s *Session) wall(mono int64) float64 {
	return float64(s.began.UnixNano())*1e-9 + float64(mono-s.mono)*1e-9
}

func (s *Session) entry(t *Task) taskEntry {
	seconds := float64(t.ended-t.started) * 1e-9
	e := taskEntry{
		Name: t.name, Depth: t.depth, Duration: seconds, Thread: t.thread, Forgotten: t.forgotten,
		StartedAt: s.wall(t.started), EndedAt: s.wall(t.ended), StartedMono: t.started, EndedMono: t.ended,
		Domains: map[string]float64{}, Powers: map[string]float64{}, provenance: s.provenance(t.energy),
		Units: unitsOf(t), GPUs: s.gpuEntries(t.gpus),
	}
	if s.gauges != nil {
		within := s.gauges.within(t.started, t.ended)
		e.Gauges = &within
	}
	if t.parent != nil {
		e.Parent = &t.parent.name
	}
	if t.energy == nil {
		return e
	}
	e.Energy, e.Machine = s.joules(t.energy.total), s.joules(t.energy.machine)
	e.programShare = s.programShare(t.energy.program)
	e.Power = number(*e.Energy / seconds)
	for id, micro := range t.energy.domains {
		e.Domains[id] = float64(micro) / 1e6
		if seconds > 0 {
			e.Powers[id] = e.Domains[id] / seconds
		}
	}
	return e
}

// kind is the weakest of the domains that make up the total.
func (s *Session) kind() string {
	worst := -1
	for _, d := range s.source.domains {
		if !d.InTotal {
			continue
		}
		i := slices.Index(kinds, d.Method)
		if i < 0 {
			i = len(kinds) - 1 // one of a later cg is not trusted
		}
		worst = max(worst, i)
	}
	switch {
	case worst < 0:
		return "unavailable"
	case worst == 0 && s.samples.failed:
		return "derived"
	}
	return kinds[worst]
}

func (s *Session) provenance(e *energy) provenance {
	var sources []string
	for _, d := range s.source.domains {
		if d.InTotal && d.Source != "" && !slices.Contains(sources, d.Source) {
			sources = append(sources, d.Source)
		}
	}
	p := provenance{Kind: "unavailable", Method: "none"}
	if sources != nil {
		p.Source = sources[0]
	}
	if len(sources) > 1 {
		p.Source += fmt.Sprintf(" and %d more", len(sources)-1)
	}
	if e != nil {
		p.Lo, p.Hi, p.Kind, p.Method = s.joules(e.lo), s.joules(e.hi), s.kind(), e.method
	}
	return p
}

func (s *Session) programShare(of *share) programShare {
	if of == nil {
		return programShare{}
	}
	return programShare{s.joules(of.total), s.joules(of.lo), s.joules(of.hi)}
}

// plus is the sum of two shares, nil where one is not known.
func (a *share) plus(b *share) *share {
	if a == nil || b == nil {
		return nil
	}
	return &share{a.total + b.total, a.lo + b.lo, a.hi + b.hi}
}

// add adds the energy of another task, without its domains.
func (e *energy) add(o *energy) {
	e.total, e.lo, e.hi = e.total+o.total, e.lo+o.lo, e.hi+o.hi
	e.program = e.program.plus(o.program)
}

// sum makes the totals of tasks at depth 0.
func (s *Session) sum(r *report) {
	all := &energy{domains: map[string]int64{}, method: methodBracket, program: &share{}}
	known := map[string]int64{} // ns in which the energy of a domain is known
	var lasted, covered, until int64
	complete := false
	var tops []*Task
	for _, t := range r.done {
		if t.depth == 0 {
			tops = append(tops, t)
		}
	}
	for i, t := range tops { // in the order in which they began
		lasted += t.ended - t.started
		covered += max(0, t.ended-max(t.started, until))
		until = max(until, t.ended)
		complete = (complete || i == 0) && t.energy != nil
		if t.energy == nil {
			continue
		}
		all.add(t.energy)
		all.method = weaker(all.method, t.energy.method)
		for id, micro := range t.energy.domains {
			all.domains[id] += micro
			known[id] += t.ended - t.started
		}
	}
	wall := s.stopped - s.mono
	seconds := float64(lasted) * 1e-9
	r.totals = totals{
		provenance: s.provenance(nil), Duration: seconds, TaskTime: seconds, Wall: float64(wall) * 1e-9,
		Gap: float64(max(0, wall-covered)) * 1e-9, Overlap: float64(max(0, lasted-covered)) * 1e-9,
		Tasks: len(r.done), TopLevel: len(tops),
		Domains: map[string]float64{}, Powers: map[string]float64{}, Noisy: []noiseWarning{},
		Units: unitsOfAll(r.done),
	}
	if len(s.source.domains) > 0 {
		r.totals.IntervalMs = number(float64(s.source.intervalNs) / 1e6)
	}
	if complete {
		r.totals.provenance, r.totals.Energy = s.provenance(all), s.joules(all.total)
		r.totals.programShare = s.programShare(all.program)
		r.totals.Power = number(*r.totals.Energy / seconds)
		for id, micro := range all.domains {
			r.totals.Domains[id] = float64(micro) / 1e6
			if known[id] > 0 {
				r.totals.Powers[id] = r.totals.Domains[id] / (float64(known[id]) * 1e-9)
			}
		}
	}
	for i, n := range r.noises {
		if n == nil {
			continue
		}
		if cv := n.PowerCvPercent; cv != nil && (r.totals.WorstCv == nil || *cv > *r.totals.WorstCv) {
			r.totals.WorstCv = cv
		}
		if w := warningOf(r.done[i], n, limitsOf(os.Getenv)); w != nil {
			r.totals.Noisy = append(r.totals.Noisy, *w)
		}
	}
}

func (s *Session) quality(r *report) string {
	switch {
	case !s.source.counts():
		return "no_backend"
	case len(r.done) == 0:
		return "no_tasks"
	case slices.ContainsFunc(r.done, func(t *Task) bool { return t.energy == nil }):
		unread := func(t *Task) bool { return t.ended > s.samples.latest() }
		if s.samples.unmoved() && !slices.ContainsFunc(r.done, unread) {
			return "energy_zero"
		}
		return "failed"
	case s.samples.late > 0 && float64(s.samples.late) >= latePart*float64(s.samples.latest()-s.mono):
		return "failed"
	case r.totals.Energy == nil || *r.totals.Energy == 0:
		return "energy_zero"
	case s.kind() == "estimated":
		return "estimated"
	}
	return "ok"
}

// describe makes meta.
func (s *Session) describe(r *report) {
	const form = "2006-01-02T15:04:05.000000-07:00"
	ended := s.began.Add(time.Duration(s.stopped - s.mono))
	m := &r.meta
	*m = meta{
		SchemaVersion: schemaVersion, Tool: sessionTool, Version: Version, RunID: runID(), SessionName: s.name,
		StartedAt: s.began.UTC().Format(form), EndedAt: ended.UTC().Format(form),
		StartedAtLocal: s.began.Local().Format(form), EndedAtLocal: ended.Local().Format(form),
		Timezone: zoneLabel(s.began),
		Duration: float64(s.stopped-s.mono) * 1e-9, PID: os.Getpid(), Platform: runtime.GOOS,
		Language: "go", LanguageVer: strings.TrimPrefix(runtime.Version(), "go"),
		CPUModel: s.source.cpuModel, Kernel: kernel(),
		Argv: os.Args, Env: map[string]string{}, Quality: s.quality(r), Support: s.source.support,
		OutlierMethod: outlierMethod, TimestampForm: timestampFormat, Topology: s.topology(),
		Timeseries: timeSeriesMeta{s.record, schemaVersion, sampleKeys, sampleClock, true},
		Sampler:    samplerMeta{s.source.via, r.totals.IntervalMs, s.samples.count, s.source.lost(), s.samples.gaps},
		Gauges:     s.gauges.meta(),
	}
	m.Hostname, _ = os.Hostname()
	m.Cwd, _ = os.Getwd()
	if s.source.cgVersion != "" {
		m.CgVersion = &s.source.cgVersion
	}
	if s.source.version != 0 {
		m.ABI = &s.source.version
	}
	if m.CPUModel == "" {
		m.CPUModel = cpuModel()
	}
	if m.Support == "" {
		m.Support = supports[min(2, len(s.source.domains))]
	}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "CODEGREEN_") || strings.HasPrefix(name, "CG_") {
			m.Env[name] = value
		}
	}
	if s.about != nil {
		s.about(m)
	}
}

// zoneLabel is the label of the host's zone: a name, or +05:30 for one without.
func zoneLabel(t time.Time) string {
	label, _ := t.Local().Zone()
	if label == "" || label[0] == '+' || label[0] == '-' {
		return t.Local().Format("-07:00")
	}
	return label
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func (s *Session) topology() any {
	if s.source.topology != nil {
		return s.source.topology
	}
	type place struct {
		TopLevel bool     `json:"top_level"`
		Kind     string   `json:"kind"`
		Includes []string `json:"includes"`
	}
	all := map[string]place{}
	for _, d := range s.source.domains {
		p := place{d.InTotal, d.Kind, []string{}}
		for _, o := range s.source.domains {
			if o.Parent == d.ID && !o.InTotal {
				p.Includes = append(p.Includes, o.ID)
			}
		}
		all[d.ID] = p
	}
	return all
}

// noteNoise warns of tasks that were uneven, and of those whose samples are missing.
func (s *Session) noteNoise(found []noiseWarning) {
	var uneven, missing []string
	for _, w := range found {
		for _, reason := range w.Reasons {
			if strings.HasPrefix(reason, "within") {
				uneven = append(uneven, fmt.Sprintf("%q by %.1f %%", w.Task, *w.PowerCvPercent))
			} else {
				missing = append(missing, fmt.Sprintf("%q %.0f %%", w.Task, 100*w.DropRatio))
			}
		}
	}
	list := func(slug, what string, of []string) {
		if len(of) > 5 {
			of = append(of[:5:5], fmt.Sprintf("and %d more", len(of)-5))
		}
		if of != nil {
			s.note(slug, what+": "+strings.Join(of, ", "))
		}
	}
	list("high-noise", "the power of these tasks varied", uneven)
	list("samples-missing", "samples of these tasks are missing", missing)
}

// Samples of a task.

func (s *Session) rangeOf(t *Task) (i, j int) {
	return s.samples.before(t.started), s.samples.after(t.ended)
}

func (s *Session) noise(t *Task) *Noise {
	i, j := s.rangeOf(t)
	j = max(i, j)
	all := stretch{
		times: s.samples.times[i:j], flags: s.samples.flags[i:j], micro: make([]uint64, j-i),
		lasted: t.ended - t.started, interval: s.source.intervalNs,
	}
	least := int64(0)
	for _, of := range s.source.domains {
		if of.InTotal && of.PeriodNs > 0 && (least == 0 || of.PeriodNs < least) {
			least = of.PeriodNs
		}
	}
	fast, some := make([]uint64, j-i), false
	for d, of := range s.source.domains {
		if !of.InTotal {
			continue
		}
		slow := of.PeriodNs > noiseSlowTimes*least
		if all.period, some = max(all.period, of.PeriodNs), some || slow; !slow {
			all.usual = max(all.usual, of.PeriodNs)
		}
		for n, e := range s.samples.energies[d][i:j] {
			if all.micro[n] += e; !slow {
				fast[n] += e
			}
		}
	}
	if some {
		all.fast = fast
	}
	return all.noise(limitsOf(os.Getenv))
}

// eachSample calls f with the samples of a task as the file has them.
func (s *Session) eachSample(t *Task, f func([]byte)) error {
	from, to := s.rangeOf(t)
	at := max(0, s.samples.after(s.mono)-1) // from which energies count
	for n := from; n < to; n++ {
		out := sample{At: s.samples.times[n], DomainJ: map[string]float64{}, DomainW: map[string]float64{}}
		span := int64(0)
		if n > 0 && (s.samples.flags[n]|s.samples.flags[n-1])&flagFailed == 0 {
			span = s.samples.times[n] - s.samples.times[n-1]
		}
		after := n
		if n+1 < len(s.samples.times) && s.samples.flags[n+1]&flagFailed == 0 {
			after++
		}
		total, around := int64(0), int64(0)
		for d, of := range s.source.domains {
			e := s.samples.energies[d]
			micro := int64(e[n]) - int64(e[at])
			out.DomainJ[of.ID] = float64(micro) / 1e6
			if of.InTotal {
				total += micro
			}
			if span > 0 {
				out.DomainW[of.ID] = rounded(float64(e[n]-e[n-1]) * 1e3 / float64(span))
				if of.InTotal {
					around += int64(e[after] - e[n-1])
				}
			}
		}
		out.Energy = float64(total) / 1e6
		if span > 0 {
			out.Power = number(rounded(float64(around) * 1e3 / float64(s.samples.times[after]-s.samples.times[n-1])))
		}
		b, err := json.Marshal(out)
		if err != nil {
			return err
		}
		f(b)
	}
	return nil
}
