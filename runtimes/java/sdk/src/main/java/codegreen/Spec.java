// Code generated from runtimes/sdk/spec/constants.txt of cg by go generate. DO NOT EDIT.
package codegreen;

import java.util.List;

/** What cg and its packages for sessions agree on. */
final class Spec {
    private Spec() {}

    // The ring of samples (nemb/RING.md): its first bytes.
    static final String RING_MAGIC = "CGSAMPLE";
    static final int RING_VERSION = 1;

    // Bytes before the domains, and bytes of a domain.
    static final int RING_HEADER_BYTES = 64;
    static final int RING_DOMAIN_BYTES = 128;

    // Words of a slot before the energies.
    static final int RING_FIXED_WORDS = 7;

    // Offsets of the words that say that it has ended, and how many samples there ever were.
    static final int RING_ENDED_OFFSET = 48;
    static final int RING_HEAD_OFFSET = 56;

    // Slots of a run's ring, and of a sidecar's unless the session says otherwise.
    static final int RING_SLOTS = 4096;
    static final int SIDECAR_SLOTS = 16384;

    // Rows of gauges (nemb/RING.md): first bytes, version, bytes before the JSON, words of a slot before the values,
    // offsets of the words that say that it has ended and how many rows there ever were, and slots.
    static final String GAUGE_MAGIC = "CGGAUGES";
    static final int GAUGE_VERSION = 1;
    static final int GAUGE_HEADER_BYTES = 56;
    static final int GAUGE_FIXED_WORDS = 2;
    static final int GAUGE_ENDED_OFFSET = 40;
    static final int GAUGE_HEAD_OFFSET = 48;
    static final int GAUGE_SLOTS = 4096;

    // The period of gauges: of a session that names none, the shortest, and the longest.
    static final long GAUGE_PERIOD_NS = 1000000000L;
    static final long GAUGE_LEAST_NS = 100000000L;
    static final long GAUGE_MOST_NS = 60000000000L;

    // Flags of a sample: a gap before it, a reading that failed.
    static final int FLAG_GAP = 1;
    static final int FLAG_FAILED = 2;

    // States of a process that is over, in /proc/PID/stat (proc_pid_stat(5)): a zombie answers to its number, and
    // samples nothing.
    static final List<String> GONE_STATES = List.of("Z", "X", "x");

    // A new session keeps the samples of so much time before it, and some more: they tell the power before the first
    // task.
    static final long RING_KEPT_BEFORE_NS = 60000000L;
    static final int RING_KEPT_BEFORE_SLOTS = 4;

    // The energy of a part of a series: the power around it is taken from this much time on each side, and is steady
    // if it is the same before and after up to this part of it.
    static final long AROUND_NS = 20000000L;
    static final double STEADY_PART = 0.5;

    // Ways to read an energy, from the best to the weakest.
    static final String METHOD_BRACKET = "bracket";
    static final String METHOD_INTERPOLATION = "interpolation";
    static final String METHOD_SAMPLED = "sampled";
    static final String METHOD_SHARED = "shared";

    // Kinds of an energy, from the best to the weakest.
    static final List<String> KINDS = List.of("measured", "derived", "estimated");

    // The kind of a GPU's domain: a task has of it what the program used. What that used while tasks shared the machine
    // is in none of them.
    static final String KIND_GPU = "gpu";

    // What the program used of GPUs (nemb/RING.md): bytes before the words of the GPUs, where in
    // them the moment is at which drivers were asked, words of a slot, and slots.
    static final int GPU_HEADER_BYTES = 16;
    static final int GPU_ASKED_OFFSET = 8;
    static final int GPU_WORDS = 13;
    static final int GPU_SLOTS = 4096;

    // Bits of the word of a GPU: its driver is asked, the program may use the GPU, and the driver will tell more; and
    // how far the number of a reason is shifted.
    static final int GPU_ASKED = 1;
    static final int GPU_HELD = 2;
    static final int GPU_AWAITED = 4;
    static final int GPU_REASON_SHIFT = 8;

    // Ways to tell what a program used of a GPU, and the reason where cg does not say.
    static final String GPU_BY_PROCESS = "process";
    static final String GPU_UNATTRIBUTED = "unattributed";
    static final String GPU_TASKS = "tasks";
    static final String GPU_TASKS_WHY = "tasks ran at the same time";
    static final String GPU_LATE = "late";
    static final String GPU_LATE_WHY = "the driver has not told yet who used it";
    static final String GPU_NOT_ASKED = "not-asked";
    static final String GPU_NOT_ASKED_WHY = "cg does not ask its driver here";

    // The driver tells late: how long it is waited for what the program used of a GPU up to the end of a task.
    static final long GPU_PATIENCE_NS = 1200000000L;

    // A counter that is late tells after a task's end what was used before: how long that may take at most.
    static final long GPU_COUNTER_MOST_NS = 3000000000L;

    // A part of a task's time below this is what rounding leaves, and 0.
    static final double ALONE_ZERO_PART = 1e-9;

    // The program's share of an energy is told for spans of at least this time, as processor times are not finer.
    static final long SHARE_WINDOW_NS = 10000000L;

    // A machine may seem to draw less than its measured idle power for so long before what is missing is let go.
    static final long SHARE_DEBT_NS = 1000000000L;

    // A counter that is updated at least this often and has not moved for so long gives no energy.
    static final long OFTEN_NS = 50000000L;
    static final long STILL_NS = 1000000000L;

    // A session has failed from this part of its time on, if a later reading supplied the energy of failed ones.
    static final double LATE_PART = 0.5;

    // Powers whose variation is called noise are means over at least so many periods of the slowest counter.
    //
    // A reading shows the energy at the last update before it. It is behind by an evenly distributed part of a
    // period T, so each end of a window of n periods is wrong by T/sqrt(12) of the power, and the mean power over
    // the window by sqrt(2)/sqrt(12)/n = 0.41/n of it. That is variation of the readings, and not of the power. It
    // adds to the variation in squares. 50 periods leave 0.8 %, and a variation of 2 %, the end of "excellent",
    // reads as 2.2 %. 10 periods would leave 4.1 %: a machine whose power never changes would not even be "good".
    // The quantum of a counter does not matter here: 61 uJ of 50 ms at 1 W are 0.1 %.
    static final int NOISE_WINDOW_PERIODS = 50;

    // Fewer powers than this have no variation that means anything.
    static final int NOISE_LEAST_POWERS = 3;

    // A variation below this part of the mean is what rounding leaves, and 0.
    static final double NOISE_ZERO_PART = 1e-6;

    // A counter is slow whose period is longer than so many of the fastest's.
    static final int NOISE_SLOW_TIMES = 10;

    // Names of variation, and the upper ends of all but the last in percent.
    static final List<String> NOISE_QUALITIES = List.of("excellent", "good", "moderate", "high-noise");
    static final List<Double> NOISE_QUALITY_ENDS_PERCENT = List.of(2.0, 5.0, 10.0);

    // A task is warned of from this variation on, and from this part of samples missing.
    static final int NOISE_CV_PERCENT = 10;
    static final double NOISE_DROP_PART = 0.2;

    // powercap (kernel documentation: power/powercap/powercap.rst). RAPL counters are updated about every
    // millisecond (Intel SDM vol. 3B, 16.10.3).
    static final long RAPL_PERIOD_NS = 1000000L;

    // Watts that no domain of a machine draws (eight sockets of 500 W stay below): a counter that means more was
    // reset.
    static final int IMPLAUSIBLE_W = 5000;

    // Watts that a counter's domain does not draw for as long as a round of it takes: if a round more would be less,
    // the energy is not known.
    static final int SUSTAINED_W = 1000;

    // Two dies of a package that are read one after the other and show counters closer than this share one.
    static final long MIRROR_UJ = 1000000L;

    // Bits of a counter: its unit is its range divided by two to this power.
    static final int COUNTER_BITS = 32;

    // The units of memory in joules are one by two to this power: 61 uJ, and 15 uJ beside these models of Intel's
    // family 6 (Haswell-X, Broadwell-X and -DE, Skylake-X, Knights Landing and Mill, Ice Lake-X and -D). The 61 uJ
    // are fixed beside Sapphire Rapids, Emerald Rapids, Granite Rapids and Granite Rapids-D (intel_rapl_common.c,
    // arch/x86/events/rapl.c).
    static final int UNIT61_POWER = 14;
    static final int UNIT15_POWER = 16;
    static final List<Integer> UNIT15_MODELS = List.of(63, 79, 86, 85, 87, 133, 106, 108);
    static final List<Integer> UNIT61_MODELS = List.of(143, 207, 173, 174);

    // A unit of memory is doubtful if it differs by more than this factor, and any unit outside of what RAPL counts
    // in.
    static final double UNIT_FACTOR = 1.5;
    static final double UNIT_LEAST_UJ = 0.1;
    static final long UNIT_MOST_UJ = 1000L;

    // In what time a sensor's file is opened, or read.
    static final long ANSWER_NS = 2000000000L;

    // What a session may ask for.
    static final long INTERVAL_LEAST_NS = 100000L;
    static final long INTERVAL_MOST_NS = 60000000000L;
    static final int BUFFER_LEAST = 16;
    static final int BUFFER_MOST = 1048576;
    static final List<String> FORMATS = List.of("auto", "json", "csv", "none");

    // In what time a sidecar has to say READY.
    static final long READY_NS = 10000000000L;

    // Samples that are kept beyond those that are needed; of the others one in so many, and the newest.
    static final int PRUNE_AFTER = 20000;
    static final int PRUNE_ONE_IN = 64;
    static final int PRUNE_NEWEST = 256;

    // The ring is emptied each period, which follows how full it was: above the first part it is halved, below the
    // second, three times, it is doubled. From the third part on there is a warning.
    static final long DRAIN_NS = 500000000L;
    static final long DRAIN_LEAST_NS = 50000000L;
    static final long DRAIN_MOST_NS = 2000000000L;
    static final double DRAIN_FULL_PART = 0.5;
    static final double DRAIN_CALM_PART = 0.1;
    static final int DRAIN_CALM_TIMES = 3;
    static final double DRAIN_WARN_PART = 0.9;

    // How long a sampler that gets no processor is waited for.
    static final long PATIENCE_NS = 10000000000L;

    // The list of processes with a session: its name in $XDG_RUNTIME_DIR, or else in the folder. %d is the user's
    // number.
    static final String NEIGHBOURS_FILE = "codegreen-%d.pids";
    static final String NEIGHBOURS_FOLDER = "/tmp";

    // The file of a session (docs/session.md).
    static final String SCHEMA_VERSION = "2";
    static final String SESSION_TOOL = "codegreen.Session";
    static final List<String> SAMPLE_KEYS = List.of("t_ns", "energy_j", "power_w", "domain_j", "domain_w");
    static final List<String> TASK_COLUMNS = List.of(
        "name", "depth", "parent", "energy_j", "avg_power_w", "duration_s", "suspended_s", "energy_lo_j",
        "energy_hi_j", "energy_kind", "energy_method", "energy_source", "machine_energy_j",
        "program_energy_j", "program_energy_lo_j", "program_energy_hi_j", "started_at", "ended_at",
        "started_at_mono_ns", "ended_at_mono_ns", "thread", "forgotten");

    // Support of domains, by how many there are; two stand for more.
    static final List<String> SUPPORTS = List.of("none", "scalar_only", "full");
    static final String OUTLIER_METHOD = "iqr_1.5";
    static final String TIMESTAMP_FORMAT = "rfc3339_utc";
    static final String SAMPLE_CLOCK = "clock_monotonic";

    // A text of a CSV that begins with one of these gets an apostrophe before it.
    static final String FORMULA_STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20";

    // Names of warnings.
    static final List<String> SLUGS = List.of(
        "no-backend", "sensor-failed", "sensor-suspect", "sampler-ended", "energy-unknown",
        "gpu-unattributed", "share-unknown", "samples-lost", "buffer-full", "concurrent", "no-gauges",
        "high-noise", "samples-missing", "forgotten", "not-written", "no-plot", "failed");

    // Requests that are told to cg (docs/monitor.md): the variable that names its socket, and characters of a
    // name.
    static final String REQUEST_SOCKET_VARIABLE = "CG_SOCKET";
    static final int REQUEST_NAME_MOST = 200;

    // Ends that wait for a socket that is full; the connection is closed where there are more.
    static final int REQUEST_UNSENT_MOST = 1000;

    // Time between two attempts to connect.
    static final long REQUEST_RETRY_NS = 1000000000L;

    // Budgets of energy in tests (docs/budgets.md): the runs at most of a test that says nothing else, the most that it
    // may say, and the runs from which on a mean has an interval.
    static final int BUDGET_RUNS = 5;
    static final int BUDGET_RUNS_MOST = 10;
    static final int BUDGET_LEAST_RUNS = 3;

    // By how many standard errors a mean reaches at 95 % (Student's t), of so many runs and each one more.
    static final List<Double> BUDGET_STUDENT = List.of(4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262);

    // Units of a budget, and their joules.
    static final List<String> BUDGET_UNITS = List.of("mJ", "J", "kJ", "MJ", "mWh", "Wh", "kWh");
    static final List<Double> BUDGET_UNIT_J = List.of(1e-3, 1.0, 1e3, 1e6, 3.6, 3.6e3, 3.6e6);

    // Verdicts; the fourth asks for one run more.
    static final String BUDGET_WITHIN = "within";
    static final String BUDGET_EXCEEDED = "exceeded";
    static final String BUDGET_OPEN = "not told";
    static final String BUDGET_REPEAT = "repeat";
    static final String BUDGET_UNKNOWN = "not known";
}
