// Code generated from runtimes/sdk/spec/constants.txt of cg by go generate. DO NOT EDIT.

package codegreen

// The ring of samples (nemb/RING.md): its first bytes.
const ringMagic = "CGSAMPLE"

const ringVersion = 1

// Bytes before the domains, and bytes of a domain.
const ringHeaderBytes = 64

const ringDomainBytes = 128

// Words of a slot before the energies.
const ringFixedWords = 7

// Offsets of the words that say that it has ended, and how many samples there ever were.
const ringEndedOffset = 48

const ringHeadOffset = 56

// Slots of a run's ring, and of a sidecar's unless the session says otherwise.
const ringSlots = 4096

const sidecarSlots = 16384

// Rows of gauges (nemb/RING.md): first bytes, version, bytes before the JSON, words of a slot before the values,
// offsets of the words that say that it has ended and how many rows there ever were, and slots.
const gaugeMagic = "CGGAUGES"

const gaugeVersion = 1

const gaugeHeaderBytes = 56

const gaugeFixedWords = 2

const gaugeEndedOffset = 40

const gaugeHeadOffset = 48

const gaugeSlots = 4096

// The period of gauges: of a session that names none, the shortest, and the longest.
const gaugePeriodNs = 1000000000

const gaugeLeastNs = 100000000

const gaugeMostNs = 60000000000

// Flags of a sample: a gap before it, a reading that failed.
const flagGap = 1

const flagFailed = 2

// States of a process that is over, in /proc/PID/stat (proc_pid_stat(5)): a zombie answers to its number, and
// samples nothing.
var goneStates = []string{"Z", "X", "x"}

// A new session keeps the samples of so much time before it, and some more: they tell the power before the first
// task.
const ringKeptBeforeNs = 60000000

const ringKeptBeforeSlots = 4

// The energy of a part of a series: the power around it is taken from this much time on each side, and is steady
// if it is the same before and after up to this part of it.
const aroundNs = 20000000

const steadyPart = 0.5

// Ways to read an energy, from the best to the weakest.
const methodBracket = "bracket"

const methodInterpolation = "interpolation"

const methodSampled = "sampled"

const methodShared = "shared"

// Kinds of an energy, from the best to the weakest.
var kinds = []string{"measured", "derived", "estimated"}

// The kind of a GPU's domain: a task has of it what the program used. What that used while tasks shared the machine
// is in none of them.
const kindGpu = "gpu"

// What the program used of GPUs (nemb/RING.md): bytes before the words of the GPUs, where in
// them the moment is at which drivers were asked, words of a slot, and slots.
const gpuHeaderBytes = 16

const gpuAskedOffset = 8

const gpuWords = 13

const gpuSlots = 4096

// Bits of the word of a GPU: its driver is asked, the program may use the GPU, and the driver will tell more; and
// how far the number of a reason is shifted.
const gpuAsked = 1

const gpuHeld = 2

const gpuAwaited = 4

const gpuReasonShift = 8

// Ways to tell what a program used of a GPU, and the reason where cg does not say.
const gpuByProcess = "process"

const gpuUnattributed = "unattributed"

const gpuTasks = "tasks"

const gpuTasksWhy = "tasks ran at the same time"

const gpuLate = "late"

const gpuLateWhy = "the driver has not told yet who used it"

const gpuNotAsked = "not-asked"

const gpuNotAskedWhy = "cg does not ask its driver here"

// The driver tells late: how long it is waited for what the program used of a GPU up to the end of a task.
const gpuPatienceNs = 1200000000

// A counter that is late tells after a task's end what was used before: how long that may take at most.
const gpuCounterMostNs = 3000000000

// A part of a task's time below this is what rounding leaves, and 0.
const aloneZeroPart = 1e-9

// The program's share of an energy is told for spans of at least this time, as processor times are not finer.
const shareWindowNs = 10000000

// A machine may seem to draw less than its measured idle power for so long before what is missing is let go.
const shareDebtNs = 1000000000

// A counter that is updated at least this often and has not moved for so long gives no energy.
const oftenNs = 50000000

const stillNs = 1000000000

// A session has failed from this part of its time on, if a later reading supplied the energy of failed ones.
const latePart = 0.5

// Powers whose variation is called noise are means over at least so many periods of the slowest counter.
//
// A reading shows the energy at the last update before it. It is behind by an evenly distributed part of a
// period T, so each end of a window of n periods is wrong by T/sqrt(12) of the power, and the mean power over
// the window by sqrt(2)/sqrt(12)/n = 0.41/n of it. That is variation of the readings, and not of the power. It
// adds to the variation in squares. 50 periods leave 0.8 %, and a variation of 2 %, the end of "excellent",
// reads as 2.2 %. 10 periods would leave 4.1 %: a machine whose power never changes would not even be "good".
// The quantum of a counter does not matter here: 61 uJ of 50 ms at 1 W are 0.1 %.
const noiseWindowPeriods = 50

// Fewer powers than this have no variation that means anything.
const noiseLeastPowers = 3

// A variation below this part of the mean is what rounding leaves, and 0.
const noiseZeroPart = 1e-6

// A counter is slow whose period is longer than so many of the fastest's.
const noiseSlowTimes = 10

// Names of variation, and the upper ends of all but the last in percent.
var noiseQualities = []string{"excellent", "good", "moderate", "high-noise"}

var noiseQualityEndsPercent = []float64{2.0, 5.0, 10.0}

// A task is warned of from this variation on, and from this part of samples missing.
const noiseCvPercent = 10

const noiseDropPart = 0.2

// powercap (kernel documentation: power/powercap/powercap.rst). RAPL counters are updated about every
// millisecond (Intel SDM vol. 3B, 16.10.3).
const raplPeriodNs = 1000000

// Watts that no domain of a machine draws (eight sockets of 500 W stay below): a counter that means more was
// reset.
const implausibleW = 5000

// Watts that a counter's domain does not draw for as long as a round of it takes: if a round more would be less,
// the energy is not known.
const sustainedW = 1000

// Two dies of a package that are read one after the other and show counters closer than this share one.
const mirrorUj = 1000000

// Bits of a counter: its unit is its range divided by two to this power.
const counterBits = 32

// The units of memory in joules are one by two to this power: 61 uJ, and 15 uJ beside these models of Intel's
// family 6 (Haswell-X, Broadwell-X and -DE, Skylake-X, Knights Landing and Mill, Ice Lake-X and -D). The 61 uJ
// are fixed beside Sapphire Rapids, Emerald Rapids, Granite Rapids and Granite Rapids-D (intel_rapl_common.c,
// arch/x86/events/rapl.c).
const unit61Power = 14

const unit15Power = 16

var unit15Models = []int{63, 79, 86, 85, 87, 133, 106, 108}

var unit61Models = []int{143, 207, 173, 174}

// A unit of memory is doubtful if it differs by more than this factor, and any unit outside of what RAPL counts
// in.
const unitFactor = 1.5

const unitLeastUj = 0.1

const unitMostUj = 1000

// In what time a sensor's file is opened, or read.
const answerNs = 2000000000

// What a session may ask for.
const intervalLeastNs = 100000

const intervalMostNs = 60000000000

const bufferLeast = 16

const bufferMost = 1048576

var formats = []string{"auto", "json", "csv", "none"}

// In what time a sidecar has to say READY.
const readyNs = 10000000000

// Samples that are kept beyond those that are needed; of the others one in so many, and the newest.
const pruneAfter = 20000

const pruneOneIn = 64

const pruneNewest = 256

// The ring is emptied each period, which follows how full it was: above the first part it is halved, below the
// second, three times, it is doubled. From the third part on there is a warning.
const drainNs = 500000000

const drainLeastNs = 50000000

const drainMostNs = 2000000000

const drainFullPart = 0.5

const drainCalmPart = 0.1

const drainCalmTimes = 3

const drainWarnPart = 0.9

// How long a sampler that gets no processor is waited for.
const patienceNs = 10000000000

// The list of processes with a session: its name in $XDG_RUNTIME_DIR, or else in the folder. %d is the user's
// number.
const neighboursFile = "codegreen-%d.pids"

const neighboursFolder = "/tmp"

// The file of a session (docs/session.md).
const schemaVersion = "2"

const sessionTool = "codegreen.Session"

var sampleKeys = []string{"t_ns", "energy_j", "power_w", "domain_j", "domain_w"}

var taskColumns = []string{
	"name", "depth", "parent", "energy_j", "avg_power_w", "duration_s", "suspended_s", "energy_lo_j",
	"energy_hi_j", "energy_kind", "energy_method", "energy_source", "machine_energy_j",
	"program_energy_j", "program_energy_lo_j", "program_energy_hi_j", "started_at", "ended_at",
	"started_at_mono_ns", "ended_at_mono_ns", "thread", "forgotten",
}

// Support of domains, by how many there are; two stand for more.
var supports = []string{"none", "scalar_only", "full"}

const outlierMethod = "iqr_1.5"

const timestampFormat = "rfc3339_utc"

const sampleClock = "clock_monotonic"

// A text of a CSV that begins with one of these gets an apostrophe before it.
const formulaStarts = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

// Names of warnings.
var slugs = []string{
	"no-backend", "sensor-failed", "sensor-suspect", "sampler-ended", "energy-unknown",
	"gpu-unattributed", "share-unknown", "samples-lost", "buffer-full", "concurrent", "no-gauges",
	"high-noise", "samples-missing", "forgotten", "not-written", "no-plot", "failed",
}

// Requests that are told to cg (docs/monitor.md): the variable that names its socket, and characters of a
// name.
const requestSocketVariable = "CG_SOCKET"

const requestNameMost = 200

// Ends that wait for a socket that is full; the connection is closed where there are more.
const requestUnsentMost = 1000

// Time between two attempts to connect.
const requestRetryNs = 1000000000

// Budgets of energy in tests (docs/budgets.md): the runs at most of a test that says nothing else, the most that it
// may say, and the runs from which on a mean has an interval.
const budgetRuns = 5

const budgetRunsMost = 10

const budgetLeastRuns = 3

// By how many standard errors a mean reaches at 95 % (Student's t), of so many runs and each one more.
var budgetStudent = []float64{4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

// Units of a budget, and their joules.
var budgetUnits = []string{"mJ", "J", "kJ", "MJ", "mWh", "Wh", "kWh"}

var budgetUnitJ = []float64{1e-3, 1.0, 1e3, 1e6, 3.6, 3.6e3, 3.6e6}

// Verdicts; the fourth asks for one run more.
const budgetWithin = "within"

const budgetExceeded = "exceeded"

const budgetOpen = "not told"

const budgetRepeat = "repeat"

const budgetUnknown = "not known"
