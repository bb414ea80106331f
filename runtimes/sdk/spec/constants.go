// Code generated from runtimes/sdk/spec/constants.txt of cg by go generate. DO NOT EDIT.

package spec

// The ring of samples (nemb/RING.md): its first bytes.
const RingMagic = "CGSAMPLE"

const RingVersion = 1

// Bytes before the domains, and bytes of a domain.
const RingHeaderBytes = 64

const RingDomainBytes = 128

// Words of a slot before the energies.
const RingFixedWords = 7

// Offsets of the words that say that it has ended, and how many samples there ever were.
const RingEndedOffset = 48

const RingHeadOffset = 56

// Slots of a run's ring, and of a sidecar's unless the session says otherwise.
const RingSlots = 4096

// Rows of gauges (nemb/RING.md): first bytes, version, bytes before the JSON, words of a slot before the values,
// offsets of the words that say that it has ended and how many rows there ever were, and slots.
const GaugeMagic = "CGGAUGES"

const GaugeVersion = 1

const GaugeHeaderBytes = 56

const GaugeFixedWords = 2

const GaugeEndedOffset = 40

const GaugeHeadOffset = 48

const GaugeSlots = 4096

// The period of gauges: of a session that names none, the shortest, and the longest.
const GaugePeriodNs = 1000000000

const GaugeLeastNs = 100000000

const GaugeMostNs = 60000000000

// Flags of a sample: a gap before it, a reading that failed.
const FlagGap = 1

const FlagFailed = 2

// States of a process that is over, in /proc/PID/stat (proc_pid_stat(5)): a zombie answers to its number, and
// samples nothing.
var GoneStates = []string{"Z", "X", "x"}

// The energy of a part of a series: the power around it is taken from this much time on each side, and is steady
// if it is the same before and after up to this part of it.
const AroundNs = 20000000

const SteadyPart = 0.5

// Ways to read an energy, from the best to the weakest.
const MethodBracket = "bracket"

const MethodInterpolation = "interpolation"

const MethodShared = "shared"

// The kind of a GPU's domain: a task has of it what the program used. What that used while tasks shared the machine
// is in none of them.
const KindGpu = "gpu"

// What the program used of GPUs (nemb/RING.md): bytes before the words of the GPUs, where in
// them the moment is at which drivers were asked, words of a slot, and slots.
const GpuHeaderBytes = 16

const GpuAskedOffset = 8

const GpuWords = 13

const GpuSlots = 4096

// Bits of the word of a GPU: its driver is asked, the program may use the GPU, and the driver will tell more; and
// how far the number of a reason is shifted.
const GpuAsked = 1

const GpuHeld = 2

const GpuAwaited = 4

const GpuReasonShift = 8

// Powers whose variation is called noise are means over at least so many periods of the slowest counter.
//
// A reading shows the energy at the last update before it. It is behind by an evenly distributed part of a
// period T, so each end of a window of n periods is wrong by T/sqrt(12) of the power, and the mean power over
// the window by sqrt(2)/sqrt(12)/n = 0.41/n of it. That is variation of the readings, and not of the power. It
// adds to the variation in squares. 50 periods leave 0.8 %, and a variation of 2 %, the end of "excellent",
// reads as 2.2 %. 10 periods would leave 4.1 %: a machine whose power never changes would not even be "good".
// The quantum of a counter does not matter here: 61 uJ of 50 ms at 1 W are 0.1 %.
const NoiseWindowPeriods = 50

// Fewer powers than this have no variation that means anything.
const NoiseLeastPowers = 3

// A variation below this part of the mean is what rounding leaves, and 0.
const NoiseZeroPart = 1e-6

// A counter is slow whose period is longer than so many of the fastest's.
const NoiseSlowTimes = 10

// Names of variation, and the upper ends of all but the last in percent.
var NoiseQualities = []string{"excellent", "good", "moderate", "high-noise"}

var NoiseQualityEndsPercent = []float64{2.0, 5.0, 10.0}

// A task is warned of from this variation on, and from this part of samples missing.
const NoiseCvPercent = 10

const NoiseDropPart = 0.2

// powercap (kernel documentation: power/powercap/powercap.rst). RAPL counters are updated about every
// millisecond (Intel SDM vol. 3B, 16.10.3).
const RaplPeriodNs = 1000000

// Watts that no domain of a machine draws (eight sockets of 500 W stay below): a counter that means more was
// reset.
const ImplausibleW = 5000

// Watts that a counter's domain does not draw for as long as a round of it takes: if a round more would be less,
// the energy is not known.
const SustainedW = 1000

// Two dies of a package that are read one after the other and show counters closer than this share one.
const MirrorUj = 1000000

// Bits of a counter: its unit is its range divided by two to this power.
const CounterBits = 32

// The units of memory in joules are one by two to this power: 61 uJ, and 15 uJ beside these models of Intel's
// family 6 (Haswell-X, Broadwell-X and -DE, Skylake-X, Knights Landing and Mill, Ice Lake-X and -D). The 61 uJ
// are fixed beside Sapphire Rapids, Emerald Rapids, Granite Rapids and Granite Rapids-D (intel_rapl_common.c,
// arch/x86/events/rapl.c).
const Unit61Power = 14

const Unit15Power = 16

var Unit15Models = []int{63, 79, 86, 85, 87, 133, 106, 108}

var Unit61Models = []int{143, 207, 173, 174}

// A unit of memory is doubtful if it differs by more than this factor, and any unit outside of what RAPL counts
// in.
const UnitFactor = 1.5

const UnitLeastUj = 0.1

const UnitMostUj = 1000

// The file of a session (docs/session.md).
const SchemaVersion = "2"

var SampleKeys = []string{"t_ns", "energy_j", "power_w", "domain_j", "domain_w"}

var TaskColumns = []string{
	"name", "depth", "parent", "energy_j", "avg_power_w", "duration_s", "suspended_s", "energy_lo_j",
	"energy_hi_j", "energy_kind", "energy_method", "energy_source", "machine_energy_j",
	"program_energy_j", "program_energy_lo_j", "program_energy_hi_j", "started_at", "ended_at",
	"started_at_mono_ns", "ended_at_mono_ns", "thread", "forgotten",
}

// Support of domains, by how many there are; two stand for more.
const OutlierMethod = "iqr_1.5"

const SampleClock = "clock_monotonic"

// Names of warnings.
var Slugs = []string{
	"no-backend", "sensor-failed", "sensor-suspect", "sampler-ended", "energy-unknown",
	"gpu-unattributed", "share-unknown", "samples-lost", "buffer-full", "concurrent", "no-gauges",
	"high-noise", "samples-missing", "forgotten", "not-written", "no-plot", "failed",
}

// Requests that are told to cg (docs/monitor.md): the variable that names its socket, and characters of a
// name.
const RequestSocketVariable = "CG_SOCKET"
