# Code generated from runtimes/sdk/spec/constants.txt of cg by go generate. DO NOT EDIT.

# The ring of samples (nemb/RING.md): its first bytes.
RING_MAGIC = "CGSAMPLE"
RING_VERSION = 1

# Bytes before the domains, and bytes of a domain.
RING_HEADER_BYTES = 64
RING_DOMAIN_BYTES = 128

# Words of a slot before the energies.
RING_FIXED_WORDS = 7

# Offsets of the words that say that it has ended, and how many samples there ever were.
RING_ENDED_OFFSET = 48
RING_HEAD_OFFSET = 56

# Slots of a run's ring, and of a sidecar's unless the session says otherwise.
RING_SLOTS = 4096
SIDECAR_SLOTS = 16384

# Rows of gauges (nemb/RING.md): first bytes, version, bytes before the JSON, words of a slot before the values,
# offsets of the words that say that it has ended and how many rows there ever were, and slots.
GAUGE_MAGIC = "CGGAUGES"
GAUGE_VERSION = 1
GAUGE_HEADER_BYTES = 56
GAUGE_FIXED_WORDS = 2
GAUGE_ENDED_OFFSET = 40
GAUGE_HEAD_OFFSET = 48
GAUGE_SLOTS = 4096

# The period of gauges: of a session that names none, the shortest, and the longest.
GAUGE_PERIOD_NS = 1000000000
GAUGE_LEAST_NS = 100000000
GAUGE_MOST_NS = 60000000000

# Flags of a sample: a gap before it, a reading that failed.
FLAG_GAP = 1
FLAG_FAILED = 2

# States of a process that is over, in /proc/PID/stat (proc_pid_stat(5)): a zombie answers to its number, and
# samples nothing.
GONE_STATES = ["Z", "X", "x"]

# A new session keeps the samples of so much time before it, and some more: they tell the power before the first
# task.
RING_KEPT_BEFORE_NS = 60000000
RING_KEPT_BEFORE_SLOTS = 4

# The energy of a part of a series: the power around it is taken from this much time on each side, and is steady
# if it is the same before and after up to this part of it.
AROUND_NS = 20000000
STEADY_PART = 0.5

# Ways to read an energy, from the best to the weakest.
METHOD_BRACKET = "bracket"
METHOD_INTERPOLATION = "interpolation"
METHOD_SAMPLED = "sampled"
METHOD_SHARED = "shared"

# Kinds of an energy, from the best to the weakest.
KINDS = ["measured", "derived", "estimated"]

# The kind of a GPU's domain: a task has of it what the program used. What that used while tasks shared the machine
# is in none of them.
KIND_GPU = "gpu"

# What the program used of GPUs (nemb/RING.md): bytes before the words of the GPUs, where in
# them the moment is at which drivers were asked, words of a slot, and slots.
GPU_HEADER_BYTES = 16
GPU_ASKED_OFFSET = 8
GPU_WORDS = 13
GPU_SLOTS = 4096

# Bits of the word of a GPU: its driver is asked, the program may use the GPU, and the driver will tell more; and
# how far the number of a reason is shifted.
GPU_ASKED = 1
GPU_HELD = 2
GPU_AWAITED = 4
GPU_REASON_SHIFT = 8

# Ways to tell what a program used of a GPU, and the reason where cg does not say.
GPU_BY_PROCESS = "process"
GPU_UNATTRIBUTED = "unattributed"
GPU_TASKS = "tasks"
GPU_TASKS_WHY = "tasks ran at the same time"
GPU_LATE = "late"
GPU_LATE_WHY = "the driver has not told yet who used it"
GPU_NOT_ASKED = "not-asked"
GPU_NOT_ASKED_WHY = "cg does not ask its driver here"

# The driver tells late: how long it is waited for what the program used of a GPU up to the end of a task.
GPU_PATIENCE_NS = 1200000000

# A counter that is late tells after a task's end what was used before: how long that may take at most.
GPU_COUNTER_MOST_NS = 3000000000

# A part of a task's time below this is what rounding leaves, and 0.
ALONE_ZERO_PART = 1e-9

# The program's share of an energy is told for spans of at least this time, as processor times are not finer.
SHARE_WINDOW_NS = 10000000

# A machine may seem to draw less than its measured idle power for so long before what is missing is let go.
SHARE_DEBT_NS = 1000000000

# A counter that is updated at least this often and has not moved for so long gives no energy.
OFTEN_NS = 50000000
STILL_NS = 1000000000

# A session has failed from this part of its time on, if a later reading supplied the energy of failed ones.
LATE_PART = 0.5

# Powers whose variation is called noise are means over at least so many periods of the slowest counter.
#
# A reading shows the energy at the last update before it. It is behind by an evenly distributed part of a
# period T, so each end of a window of n periods is wrong by T/sqrt(12) of the power, and the mean power over
# the window by sqrt(2)/sqrt(12)/n = 0.41/n of it. That is variation of the readings, and not of the power. It
# adds to the variation in squares. 50 periods leave 0.8 %, and a variation of 2 %, the end of "excellent",
# reads as 2.2 %. 10 periods would leave 4.1 %: a machine whose power never changes would not even be "good".
# The quantum of a counter does not matter here: 61 uJ of 50 ms at 1 W are 0.1 %.
NOISE_WINDOW_PERIODS = 50

# Fewer powers than this have no variation that means anything.
NOISE_LEAST_POWERS = 3

# A variation below this part of the mean is what rounding leaves, and 0.
NOISE_ZERO_PART = 1e-6

# A counter is slow whose period is longer than so many of the fastest's.
NOISE_SLOW_TIMES = 10

# Names of variation, and the upper ends of all but the last in percent.
NOISE_QUALITIES = ["excellent", "good", "moderate", "high-noise"]
NOISE_QUALITY_ENDS_PERCENT = [2.0, 5.0, 10.0]

# A task is warned of from this variation on, and from this part of samples missing.
NOISE_CV_PERCENT = 10
NOISE_DROP_PART = 0.2

# powercap (kernel documentation: power/powercap/powercap.rst). RAPL counters are updated about every
# millisecond (Intel SDM vol. 3B, 16.10.3).
RAPL_PERIOD_NS = 1000000

# Watts that no domain of a machine draws (eight sockets of 500 W stay below): a counter that means more was
# reset.
IMPLAUSIBLE_W = 5000

# Watts that a counter's domain does not draw for as long as a round of it takes: if a round more would be less,
# the energy is not known.
SUSTAINED_W = 1000

# Two dies of a package that are read one after the other and show counters closer than this share one.
MIRROR_UJ = 1000000

# Bits of a counter: its unit is its range divided by two to this power.
COUNTER_BITS = 32

# The units of memory in joules are one by two to this power: 61 uJ, and 15 uJ beside these models of Intel's
# family 6 (Haswell-X, Broadwell-X and -DE, Skylake-X, Knights Landing and Mill, Ice Lake-X and -D). The 61 uJ
# are fixed beside Sapphire Rapids, Emerald Rapids, Granite Rapids and Granite Rapids-D (intel_rapl_common.c,
# arch/x86/events/rapl.c).
UNIT61_POWER = 14
UNIT15_POWER = 16
UNIT15_MODELS = [63, 79, 86, 85, 87, 133, 106, 108]
UNIT61_MODELS = [143, 207, 173, 174]

# A unit of memory is doubtful if it differs by more than this factor, and any unit outside of what RAPL counts
# in.
UNIT_FACTOR = 1.5
UNIT_LEAST_UJ = 0.1
UNIT_MOST_UJ = 1000

# In what time a sensor's file is opened, or read.
ANSWER_NS = 2000000000

# What a session may ask for.
INTERVAL_LEAST_NS = 100000
INTERVAL_MOST_NS = 60000000000
BUFFER_LEAST = 16
BUFFER_MOST = 1048576
FORMATS = ["auto", "json", "csv", "none"]

# In what time a sidecar has to say READY.
READY_NS = 10000000000

# Samples that are kept beyond those that are needed; of the others one in so many, and the newest.
PRUNE_AFTER = 20000
PRUNE_ONE_IN = 64
PRUNE_NEWEST = 256

# The ring is emptied each period, which follows how full it was: above the first part it is halved, below the
# second, three times, it is doubled. From the third part on there is a warning.
DRAIN_NS = 500000000
DRAIN_LEAST_NS = 50000000
DRAIN_MOST_NS = 2000000000
DRAIN_FULL_PART = 0.5
DRAIN_CALM_PART = 0.1
DRAIN_CALM_TIMES = 3
DRAIN_WARN_PART = 0.9

# How long a sampler that gets no processor is waited for.
PATIENCE_NS = 10000000000

# The list of processes with a session: its name in $XDG_RUNTIME_DIR, or else in the folder. %d is the user's
# number.
NEIGHBOURS_FILE = "codegreen-%d.pids"
NEIGHBOURS_FOLDER = "/tmp"

# The file of a session (docs/session.md).
SCHEMA_VERSION = "2"
SESSION_TOOL = "codegreen.Session"
SAMPLE_KEYS = ["t_ns", "energy_j", "power_w", "domain_j", "domain_w"]
TASK_COLUMNS = [
    "name", "depth", "parent", "energy_j", "avg_power_w", "duration_s", "suspended_s", "energy_lo_j",
    "energy_hi_j", "energy_kind", "energy_method", "energy_source", "machine_energy_j",
    "program_energy_j", "program_energy_lo_j", "program_energy_hi_j", "started_at", "ended_at",
    "started_at_mono_ns", "ended_at_mono_ns", "thread", "forgotten"]

# Support of domains, by how many there are; two stand for more.
SUPPORTS = ["none", "scalar_only", "full"]
OUTLIER_METHOD = "iqr_1.5"
TIMESTAMP_FORMAT = "rfc3339_utc"
SAMPLE_CLOCK = "clock_monotonic"

# A text of a CSV that begins with one of these gets an apostrophe before it.
FORMULA_STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

# Names of warnings.
SLUGS = [
    "no-backend", "sensor-failed", "sensor-suspect", "sampler-ended", "energy-unknown",
    "gpu-unattributed", "share-unknown", "samples-lost", "buffer-full", "concurrent", "no-gauges",
    "high-noise", "samples-missing", "forgotten", "not-written", "no-plot", "failed"]

# Requests that are told to cg (docs/monitor.md): the variable that names its socket, and characters of a
# name.
REQUEST_SOCKET_VARIABLE = "CG_SOCKET"
REQUEST_NAME_MOST = 200

# Ends that wait for a socket that is full; the connection is closed where there are more.
REQUEST_UNSENT_MOST = 1000

# Time between two attempts to connect.
REQUEST_RETRY_NS = 1000000000

# Budgets of energy in tests (docs/budgets.md): the runs at most of a test that says nothing else, the most that it
# may say, and the runs from which on a mean has an interval.
BUDGET_RUNS = 5
BUDGET_RUNS_MOST = 10
BUDGET_LEAST_RUNS = 3

# By how many standard errors a mean reaches at 95 % (Student's t), of so many runs and each one more.
BUDGET_STUDENT = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

# Units of a budget, and their joules.
BUDGET_UNITS = ["mJ", "J", "kJ", "MJ", "mWh", "Wh", "kWh"]
BUDGET_UNIT_J = [1e-3, 1.0, 1e3, 1e6, 3.6, 3.6e3, 3.6e6]

# Verdicts; the fourth asks for one run more.
BUDGET_WITHIN = "within"
BUDGET_EXCEEDED = "exceeded"
BUDGET_OPEN = "not told"
BUDGET_REPEAT = "repeat"
BUDGET_UNKNOWN = "not known"
