// Package advice says what a run shows that could be changed to save energy (cg report --advice).
//
// It takes a saved run, and gives a Document with Findings: each says what was seen, in numbers of this run, how
// much energy was used in it, and between which bounds lies what removing it would save. It gives no general tips. What
// the run does not tell is listed in Unseen, with the reason.
package advice

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"cg/nemb"
	"cg/report"
	"cg/report/figures"
)

// Kind is what a finding is about.
type Kind string

// The kinds of findings.
const (
	Waiting      Kind = "waiting"       // the program did next to nothing, and the machine drew power
	Background   Kind = "background"    // threads of the language's implementation, such as garbage collection
	OneProcessor Kind = "one-processor" // one was busy while others idled
	SmallIO      Kind = "small-io"      // many system calls that moved few bytes each
	GrowingCalls Kind = "growing-calls" // calls of a function tended to take longer than those before
)

// Kinds are all there are.
var Kinds = []Kind{Waiting, Background, OneProcessor, SmallIO, GrowingCalls}

// Finding is something that the run shows.
type Finding struct {
	Kind Kind `json:"kind"`
	// Function is where most of it was, null where that is not told.
	Function *Place `json:"function"`
	// Seen is what was seen, with its numbers.
	Seen string `json:"seen"`
	// EnergyJ is what was used in it; between SavesLoJ and SavesHiJ lies what removing it saves.
	EnergyJ  report.Joules `json:"energy_j"`
	SavesLoJ report.Joules `json:"saves_lo_j"`
	SavesHiJ report.Joules `json:"saves_hi_j"`
	// Bounds says why the bounds are these.
	Bounds string `json:"bounds"`
}

// Place is a function.
type Place struct {
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Unseen is a kind that the run tells nothing about.
type Unseen struct {
	Kind Kind   `json:"kind"`
	Why  string `json:"why"`
}

// Document is what a run shows.
type Document struct {
	Advice About       `json:"advice"`
	Meta   report.Meta `json:"meta"` // of the run
	// Findings are those first that could save most.
	Findings []Finding `json:"findings"`
	Unseen   []Unseen  `json:"unseen"`
}

// About is of which run it is.
type About struct {
	SchemaVersion  string         `json:"schema_version"`
	CgVersion      string         `json:"cg_version"`
	Title          string         `json:"title"`
	EnergyJ        *report.Joules `json:"energy_j"`
	ProgramEnergyJ *report.Joules `json:"program_energy_j"`
	EnergyKind     nemb.Method    `json:"energy_kind"`
}

// What is looked at, and from which part on something is told.
const (
	leastShare  = 0.02 // of the program's energy: what could save less is not told
	idleBelow   = 0.1  // processors that the program uses in a window in which it waits
	mostOthers  = 0.5  // of the processors that others use in such a window
	leastWaits  = 0.1  // of the run's time
	leastAlone  = 0.5  // of the run's time with one processor busy
	leastCalls  = 8    // long calls for a tendency
	mostMissing = 0.2  // of a function's calls, that were too short to be told one by one
	leastIO     = 10_000
	smallIO     = 1024 // bytes of a system call, in the mean
	leastSystem = 0.2  // of the processor time, in the kernel
)

// Of says what a run shows. The error is why nothing can be said.
func Of(r *report.Run, version string) (*Document, error) {
	if part := r.Part(); part != "" {
		return nil, fmt.Errorf("a %s file has tasks and samples only: advice is for a run of cg measure", part)
	}
	if r.Totals.EnergyJ == nil || r.Totals.ProgramEnergyJ == nil || *r.Totals.EnergyJ == 0 {
		return nil, fmt.Errorf("the energies of the run are not known: %s", cmp.Or(r.WhyUnknown(), "none was used"))
	}
	d := &Document{Meta: r.Meta, Findings: []Finding{}, Unseen: []Unseen{}, Advice: About{
		SchemaVersion: report.SchemaVersion, CgVersion: version, Title: r.Title(), EnergyJ: r.Totals.EnergyJ,
		ProgramEnergyJ: r.Totals.ProgramEnergyJ, EnergyKind: r.Totals.Kind}}
	l := look{Run: r, doc: d}
	l.waiting()
	l.background()
	l.oneProcessor()
	l.smallIO()
	l.growingCalls()
	slices.SortStableFunc(d.Findings, func(a, b Finding) int { return cmp.Compare(b.SavesHiJ, a.SavesHiJ) })
	return d, nil
}

// look looks at a run.
type look struct {
	*report.Run
	doc *Document
}

// add takes in a finding that could save enough.
func (l *look) add(f Finding, energy, lo, hi float64) {
	whole := l.Totals.ProgramEnergyJ.Float() // the rest depends on what else the machine does
	if hi < leastShare*whole || !(hi > 0) || math.IsInf(hi, 0) {
		return
	}
	f.EnergyJ, f.SavesLoJ, f.SavesHiJ = joules(energy), joules(lo), joules(max(lo, hi))
	l.doc.Findings = append(l.doc.Findings, f)
}

func (l *look) unseen(k Kind, why string) { l.doc.Unseen = append(l.doc.Unseen, Unseen{k, why}) }

func joules(v float64) report.Joules { return report.Joules(math.Round(1e6 * max(0, v))) }

// least and most are by how much the energies of the run may be less and more than they are told.
func (l *look) most() float64 {
	if hi := l.Totals.HiJ; hi != nil && *l.Totals.EnergyJ > 0 {
		return max(1, hi.Float()/l.Totals.EnergyJ.Float())
	}
	return 1
}

func (l *look) mark(v float64) string { return l.Mark() + figures.Joules(v) }

// span is a part of the run, from sample to sample.
type span struct{ seconds, joules, program, others float64 }

// spans are those whose energy is known.
func (l *look) spans() (all []span) {
	for i := 1; i < len(l.Samples); i++ {
		a, b := l.Samples[i-1], l.Samples[i]
		s := span{seconds: float64(b.TNs-a.TNs) * 1e-9, program: b.ProgramCPUS - a.ProgramCPUS,
			others: b.OtherCPUS - a.OtherCPUS}
		if a.EnergyJ == nil || b.EnergyJ == nil || s.seconds <= 0 {
			continue
		}
		s.joules = b.EnergyJ.Float() - a.EnergyJ.Float()
		all = append(all, s)
	}
	return all
}

// most waits for the function in which threads waited longest, nil where none did for a good part of so many seconds.
func (l *look) waitedIn(seconds float64) (*Place, float64) {
	best, longest := -1, 0.0
	for i, f := range l.Functions {
		if waited := f.SuspendedS + max(0, f.SelfTimeS-f.CPUTimeS-f.SelfTimeDoubtS); waited > longest {
			best, longest = i, waited
		}
	}
	if best < 0 || longest < 0.3*seconds {
		return nil, 0
	}
	return l.place(best), longest
}

func (l *look) place(i int) *Place {
	f := l.Functions[i]
	return &Place{f.Name, f.File, f.Line}
}

// waiting finds the time in which the program used next to no processor.
func (l *look) waiting() {
	all := l.spans()
	if len(all) == 0 {
		l.unseen(Waiting, "the run has no samples with energies")
		return
	}
	var sum, whole span
	// Where others keep the processors busy, the program may have waited for one.
	crowd := mostOthers * float64(max(1, l.processors()))
	for _, s := range all {
		whole.seconds += s.seconds
		if s.program < idleBelow*s.seconds && s.others < crowd*s.seconds {
			sum.seconds, sum.joules, sum.others = sum.seconds+s.seconds, sum.joules+s.joules, sum.others+s.others
		}
	}
	if sum.seconds < leastWaits*whole.seconds {
		return
	}
	power := sum.joules / sum.seconds
	f := Finding{Kind: Waiting, Seen: fmt.Sprintf("for %s of %s the program used less than a tenth of a processor, "+
		"and the machine used %s (%s)", figures.Seconds(sum.seconds), figures.Seconds(whole.seconds),
		l.mark(sum.joules), l.Mark()+figures.Watts(&power)),
		Bounds: "nothing is saved where the machine stays on and does nothing else; all of it where it would sleep " +
			"or do other work"}
	if l.Idle != nil {
		f.Seen += fmt.Sprintf("; idle it draws %s", l.Mark()+figures.Watts(&l.Idle.PowerW))
	}
	if place, waited := l.waitedIn(sum.seconds); place != nil {
		f.Function = place
		f.Seen += fmt.Sprintf("; %s waited for %s", place.Name, figures.Seconds(waited))
	}
	l.add(f, sum.joules, 0, sum.joules*l.most())
}

// background finds lines of the ledger for threads of the language's implementation.
func (l *look) background() {
	known := []string{report.LineFunctions, report.LineUninstrumented, report.LineOther, report.LineIdle,
		report.LineOwn, report.LineCheckpoints, report.LineGPU, report.LineUnattributed}
	for _, line := range l.Ledger {
		if slices.Contains(known, line.Name) {
			continue
		}
		program, e := l.Totals.ProgramEnergyJ.Float(), line.EnergyJ.Float()
		share := 100 * e / program
		l.add(Finding{Kind: Background, Seen: fmt.Sprintf("%s used %s, %s of the program's energy", line.Name,
			l.mark(e), figures.Percent(&share)),
			Bounds: "between none and all of it can be saved: the run does not tell how much of it the program needs"},
			e, 0, e*l.most())
	}
}

// processors are how many the program could use, 0 where that is not known.
func (l *look) processors() int { return int(math.Ceil(l.Processors())) }

// oneProcessor finds the time in which one processor was busy and the others idled.
func (l *look) oneProcessor() {
	n := l.processors()
	switch {
	case n == 0:
		l.unseen(OneProcessor, "not checked: the report does not say how many processors the program could use")
		return
	case n == 1:
		return
	case l.Idle == nil:
		l.unseen(OneProcessor, "the idle power of the machine is not known (--baseline measures it)")
		return
	}
	alone, whole := 0.0, 0.0
	for _, s := range l.spans() {
		whole += s.seconds
		if s.program > 0.8*s.seconds && s.program < 1.1*s.seconds && s.others < 0.2*s.seconds*float64(n-1) {
			alone += s.seconds
		}
	}
	if whole == 0 || alone < leastAlone*whole {
		return
	}
	idle, hi := l.Idle.PowerW*alone, l.Idle.PowerHiW*alone
	f := Finding{Kind: OneProcessor, Seen: fmt.Sprintf("for %s of %s the program kept one processor busy, and %d more "+
		"idled; the idle power of the machine was %s of it", figures.Seconds(alone), figures.Seconds(whole), n-1,
		l.mark(idle)),
		Bounds: fmt.Sprintf("nothing where the work cannot be divided; 1 - 1/%d of the idle power's energy where it "+
			"can be divided among all %d without more work", n, n)}
	best := -1
	for i, fn := range l.Functions {
		if best < 0 || fn.CPUTimeS > l.Functions[best].CPUTimeS {
			best = i
		}
	}
	if best >= 0 && l.Functions[best].CPUTimeS > 0.3*alone {
		f.Function = l.place(best)
		f.Seen += fmt.Sprintf("; %s was on it for %s", f.Function.Name, figures.Seconds(l.Functions[best].CPUTimeS))
	}
	l.add(f, idle, 0, max(idle, hi)*(1-1/float64(n)))
}

// smallIO finds many system calls that moved few bytes each.
func (l *look) smallIO() {
	io := l.Process.IO
	if io == nil {
		l.unseen(SmallIO, "the run does not tell what the program read and wrote")
		return
	}
	calls, bytes := io.Reads+io.Writes, io.ReadBytes+io.WrittenBytes
	cpu := l.Process.UserS + l.Process.SystemS
	if calls < leastIO || bytes/calls >= smallIO || l.Process.SystemS < leastSystem*cpu {
		return
	}
	share := l.Process.SystemS / cpu
	percent, e := 100*share, share*l.Totals.ProgramEnergyJ.Float()
	hi := e
	if most := l.Totals.ProgramEnergyHiJ; most != nil {
		hi = max(hi, share*most.Float())
	}
	l.add(Finding{Kind: SmallIO, Seen: fmt.Sprintf("%s reads and %s writes moved %s bytes each in the mean; the "+
		"kernel had %s of the processor time", figures.Count(io.Reads), figures.Count(io.Writes),
		figures.Count(bytes/calls), figures.Percent(&percent)),
		Bounds: "in the kernel alone: none where its time was for something else than these calls; all of it where " +
			"it was for them. The program's own time around the calls comes on top"},
		e, 0, hi)
}

// growingCalls finds functions whose calls tended to take longer than those before.
func (l *look) growingCalls() {
	if len(l.LongCalls) == 0 {
		l.unseen(GrowingCalls, "no call was long enough to be told by itself")
		return
	}
	calls := map[uint32][]float64{}
	for _, c := range l.LongCalls { // in the order of their starts
		calls[c.Site] = append(calls[c.Site], float64(c.EndedAtMonoNs-c.StartedAtMonoNs)*1e-9)
	}
	sites := map[uint32]report.Site{}
	for _, s := range l.Sites {
		sites[s.ID] = s
	}
	for i, f := range l.Functions {
		var seconds []float64
		for id, s := range sites {
			if s.Name == f.Name && s.File == f.File && s.Line == f.Line {
				seconds = calls[id]
			}
		}
		n := float64(len(seconds))
		if len(seconds) < leastCalls || n < (1-mostMissing)*float64(f.Calls) || f.InclusiveEnergyJ == nil ||
			f.InclusiveTimeS <= 0 {
			continue
		}
		slope, lo, hi, clear := tendency(seconds)
		if !clear {
			continue
		}
		power := f.InclusiveEnergyJ.Float() / f.InclusiveTimeS
		least, most := power, power
		if a, b := f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ; a != nil && b != nil {
			least, most = a.Float()/f.InclusiveTimeS, b.Float()/f.InclusiveTimeS
		}
		// What all calls took more than the first would have: slope (0 + 1 + ... + n-1).
		// A line that begins below 0 would have more than they took.
		more := func(slope float64) float64 { return min(f.InclusiveTimeS, slope*n*(n-1)/2) }
		first := stat.Mean(seconds, nil) - slope*(n-1)/2
		l.add(Finding{Kind: GrowingCalls, Function: l.place(i), Seen: fmt.Sprintf("the %d calls of %s tended "+
			"to take longer: from %s to %s, by a line through all", len(seconds), f.Name,
			figures.Seconds(max(0, first)), figures.Seconds(first+slope*(n-1))),
			Bounds: "what all calls took more than the first, by the 95 % interval of the line and of the function's " +
				"energy, and no more than all that the function used"},
			power*more(slope), least*more(lo), most*more(hi))
	}
}

// tendency is the slope of a line through values in their order, with its 95 % interval, and whether it rises
// clearly: with the line and with Kendall's rank correlation, each at 1 %, which a few outliers do not make.
func tendency(values []float64) (slope, lo, hi float64, clear bool) {
	n := float64(len(values))
	xs := make([]float64, len(values))
	for i := range xs {
		xs[i] = float64(i)
	}
	intercept, slope := stat.LinearRegression(xs, values, nil, false)
	squares, spread, s := 0.0, 0.0, 0.0
	for i, v := range values {
		squares += (v - intercept - slope*xs[i]) * (v - intercept - slope*xs[i])
		spread += (xs[i] - (n-1)/2) * (xs[i] - (n-1)/2)
		for _, earlier := range values[:i] {
			s += float64(cmp.Compare(v, earlier))
		}
	}
	e := math.Sqrt(squares / (n - 2) / spread)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 2}
	z := (s - 1) / math.Sqrt(n*(n-1)*(2*n+5)/18) // Kendall, Rank Correlation Methods, 1948
	clear = slope-t.Quantile(0.99)*e > 0 && z > distuv.UnitNormal.Quantile(0.99)
	return slope, max(0, slope-t.Quantile(0.975)*e), slope + t.Quantile(0.975)*e, clear
}

// Kind names the document.
func (d *Document) Kind() string { return "advice on a run" }

// JSON encodes it.
func (d *Document) JSON() ([]byte, error) { return report.Encode(d) }

// Schema is its JSON Schema: docs/advice.schema.json.
func Schema() map[string]any {
	return report.SchemaOf(reflect.TypeFor[Document](),
		"What a run shows that could save energy, by cg report --advice")
}

// IsSaved reports whether a file holds such a document, and goes back to its beginning.
func IsSaved(f io.ReadSeeker) bool { return report.BeginsWith(f, "advice") }

// Read reads a saved document, and refuses what is none.
func Read(f io.ReadSeeker) (*Document, error) {
	d := &Document{}
	if err := report.Decode(f, d); err != nil {
		return nil, fmt.Errorf("not saved advice: %w", err)
	}
	if v := d.Advice.SchemaVersion; !report.Reads(v) {
		return nil, report.Unreadable(d.Advice.CgVersion, v, "make it anew from its run")
	}
	return d, nil
}

// Mark stands before energies that are estimated.
func (d *Document) Mark() string { return report.Mark(d.Advice.EnergyKind) }

// Energies are those of the run, in words.
func (d *Document) Energies() string {
	return fmt.Sprintf("the program %s, the machine %s, %s", d.Mark()+figures.Energy(d.Advice.ProgramEnergyJ),
		d.Mark()+figures.Energy(d.Advice.EnergyJ), d.Advice.EnergyKind)
}

// At is where a function stands.
func (p *Place) At() string {
	if p.File == "" {
		return p.Name
	}
	return fmt.Sprintf("%s, %s:%d", p.Name, p.File, p.Line)
}

// Saves is what removing it saves, in words.
func (d *Document) Saves(f Finding) string {
	return figures.Joules(f.SavesLoJ.Float()) + " to " + d.Mark() + figures.Joules(f.SavesHiJ.Float())
}

// Nothing says that there is no finding.
const Nothing = "the run shows none of what is looked for that could save 2 % of the program's energy or more"
