package codegreen;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongToDoubleFunction;

/**
 * What cg tells of one GPU behind the samples of a ring (nemb/RING.md of cg): whose its energy was, in pieces of time.
 * It tells about a second late.
 */
final class Gpu {
    /** Why energy is nobody's. */
    record Reason(String name, String why) {}

    /**
     * Whose the energy of a time is, in microjoules, and the nanoseconds of which it is told. lo and hi bound the
     * program's, which may be off by the root of squares besides.
     */
    record Sums(double total, double program, double other, double idle, double unattributed, double lo, double hi,
                double squares, double ns) {
        static final Sums NOTHING = new Sums(0, 0, 0, 0, 0, 0, 0, 0, 0);

        Sums plus(Sums b, double by) {
            return new Sums(total + b.total * by, program + b.program * by, other + b.other * by, idle + b.idle * by,
                unattributed + b.unattributed * by, lo + b.lo * by, hi + b.hi * by, squares + b.squares * by,
                ns + b.ns * by);
        }

        /** Whether all of it but idle power is nobody's. */
        boolean toldNothing() {
            return program + other <= 0 && unattributed > total / 100;
        }

        /** Without squares that are counted already. */
        Sums without(double counted) {
            return new Sums(total, program, other, idle, unattributed, lo, hi, squares - counted, ns);
        }

        /** With more that is nobody's. */
        Sums untold(double more) {
            return new Sums(total + more, program, other, idle, unattributed + more, lo, hi + more, squares, ns);
        }
    }

    /** A piece of time, and all pieces before. */
    private record Piece(long from, long to, Sums of, Sums before, int reason) {
        /**
         * The part of it in which the counter showed e. Idle power is the same all the time; the rest is divided as
         * that of the whole piece.
         */
        Sums within(double showed, double part) {
            if (part >= 1) return of;
            double e = Math.min(Math.max(0, showed), of.total);
            double active = of.total - of.idle, used = e - Math.min(e, of.idle * part);
            double share = active > 0 ? Math.min(1, used / active) : part;
            double program = of.program * share, other = of.other * share, nobody = of.unattributed * share;
            double lo = Math.min(program, Math.max(0, of.lo - (active - used)));
            double hi = Math.max(program, Math.min(of.hi, used + Math.max(0, of.hi - active) * part));
            return new Sums(e, program, other, Math.max(0, e - program - other - nobody), nobody, lo, hi, of.squares,
                of.ns * part);
        }
    }

    long state;
    long asked; // the moment at which its driver was asked last
    final List<Reason> reasons;
    private List<Piece> pieces = new ArrayList<>();

    Gpu(List<Reason> reasons) {
        this.reasons = reasons;
    }

    boolean is(long bit) {
        return (state & bit) != 0;
    }

    private Reason why(long number) {
        return number > 0 && number <= reasons.size() ? reasons.get((int) number - 1) : new Reason("", "");
    }

    /** Takes in a piece; of has microjoules in the order of Sums. */
    void add(long from, long to, double[] of, int reason) {
        Piece last = pieces.isEmpty() ? null : pieces.get(pieces.size() - 1);
        Sums before = last == null ? Sums.NOTHING : last.before.plus(last.of, 1);
        Sums sums = new Sums(of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7] * of[7], to - from);
        pieces.add(new Piece(from, to, sums, before, reason));
    }

    /** How many pieces end at t or before, or begin before t. */
    private int count(long t, boolean ends) {
        int low = 0, high = pieces.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            Piece p = pieces.get(middle);
            if (ends ? p.to <= t : p.from < t) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    private Sums piece(int k, long start, long end, LongToDoubleFunction curve) {
        Piece p = pieces.get(k);
        long a = Math.max(start, p.from), b = Math.min(end, p.to);
        return p.within(curve.applyAsDouble(b) - curve.applyAsDouble(a), (b - a) / p.of.ns);
    }

    /** Whose the energy was from start to end, as far as it is told. */
    private Sums between(long start, long end, LongToDoubleFunction curve) {
        int i = count(start, true), j = count(end, false) - 1;
        if (i > j) return Sums.NOTHING;
        Sums sum = piece(i, start, end, curve);
        if (i == j) return sum;
        Piece first = pieces.get(i);
        return sum.plus(piece(j, start, end, curve), 1).plus(pieces.get(j).before, 1).plus(first.before, -1)
            .plus(first.of, -1);
    }

    /** The number of a reason why something is nobody's then, 0 for none. */
    private int reason(long start, long end) {
        int number = 0;
        for (int i = count(start, true), j = count(end, false); i < j; i++) {
            if (pieces.get(i).reason != 0) number = pieces.get(i).reason;
        }
        return number;
    }

    /**
     * Whether the program may have used it up to then. That it held no context is known up to the moment at which the
     * driver was asked last.
     */
    private boolean held(long end) {
        return is(Spec.GPU_HELD) || asked < end;
    }

    /** Whether its driver is asked, and the program may have used it up to then. */
    boolean mayUse(long end) {
        return is(Spec.GPU_ASKED) && held(end);
    }

    /** Whether cg has not told yet who used it up to then, and will. */
    boolean awaited(long end) {
        if (!is(Spec.GPU_ASKED) || asked < end) return is(Spec.GPU_ASKED);
        return is(Spec.GPU_HELD) && is(Spec.GPU_AWAITED)
            && (pieces.isEmpty() || pieces.get(pieces.size() - 1).to < end);
    }

    /** Leaves out the pieces in which no edge lies, but the newest. */
    void prune(long[] edges) {
        boolean[] keep = new boolean[pieces.size()];
        if (keep.length > 0) keep[keep.length - 1] = true;
        for (long edge : edges) {
            int i = count(edge - 1, true);
            for (int n = Math.max(0, i - 1); n <= Math.min(i + 1, keep.length - 1); n++) keep[n] = true;
        }
        List<Piece> kept = new ArrayList<>();
        for (int i = 0; i < keep.length; i++) if (keep[i]) kept.add(pieces.get(i));
        pieces = kept;
    }

    /**
     * Whose the energy of a GPU was in a task: whole microjoules that add up to total.
     *
     * @param rest  what is nobody's
     * @param lo    with hi: the program's is between them
     * @param known whether the program's is
     * @param held  whether the program may have used the GPU
     */
    record Use(String domain, String method, String reason, String why, long total, long program, long other, long idle,
               long rest, long lo, long hi, boolean known, boolean held) {
        /** What the file says of it. */
        Map<String, Object> entry() {
            Map<String, Object> out = new LinkedHashMap<>();
            out.put("domain", domain);
            out.put("gpu_method", method);
            out.put("reason", reason);
            out.put("used_by_program", held);
            out.put("energy_j", Report.joules(total));
            out.put("program_energy_j", known ? Report.joules(program) : null);
            out.put("program_energy_lo_j", known ? Report.joules(lo) : null);
            out.put("program_energy_hi_j", known ? Report.joules(hi) : null);
            out.put("other_processes_j", Report.joules(other));
            out.put("idle_j", Report.joules(idle));
            out.put("unattributed_j", Report.joules(rest));
            return out;
        }
    }

    /**
     * Whose the energy of domain d was from start to end, joules give or take slack, in which the task shared these
     * parts of the time.
     */
    static Use use(Samples samples, int d, long start, long end, List<Shares.Part> parts, double joules, double slack) {
        String domain = samples.domains.get(d).id();
        Gpu gpu = samples.gpus.get(d);
        long total = (long) (joules * 1e6 + 0.5);
        List<Shares.Part> stretches = stretches(start, end, parts);
        double hidden = samples.hidden(d, stretches); // which the counter may have missed
        double most = (joules + slack + hidden) * 1e6;
        if (gpu == null || !gpu.is(Spec.GPU_ASKED)) {
            return new Use(domain, Spec.GPU_UNATTRIBUTED, Spec.GPU_NOT_ASKED, Spec.GPU_NOT_ASKED_WHY, total, 0, 0, 0,
                total, 0, (long) Math.ceil(most - 1e-6), false, true);
        }
        LongToDoubleFunction curve = t -> samples.curve(d, t);
        Sums own = Sums.NOTHING, shared = Sums.NOTHING;
        int number = 0;
        boolean untold = false;
        int counted = -1; // the last piece whose squares are: what is off in a piece may be in one part only
        for (Shares.Part p : stretches) {
            Sums sum = gpu.between(p.start(), p.end(), curve);
            int first = gpu.count(p.start(), true), last = gpu.count(p.end(), false) - 1;
            if (first <= last) {
                if (first == counted) sum = sum.without(gpu.pieces.get(first).of.squares);
                counted = last;
            }
            int reason = gpu.reason(p.start(), p.end());
            if (reason != 0) number = reason;
            if (p.end() - p.start() - sum.ns > 0.5) { // it is not told to the end
                double more = curve.applyAsDouble(p.end()) - curve.applyAsDouble(p.start()) - sum.total;
                untold |= more > 0;
                sum = sum.untold(Math.max(0, more));
            }
            if (p.of() == 1) own = own.plus(sum, 1);
            else shared = shared.plus(sum, 1);
        }
        double all = own.total + shared.total, by = all > 0 ? joules * 1e6 / all : 0;
        boolean held = gpu.held(end), told = gpu.is(Spec.GPU_AWAITED) && !own.toldNothing();
        long program = whole(own.program * by), other = whole(own.other * by), idle = whole(own.idle * by);
        long rest = Math.max(0, total - program - other - idle), lo = 0, hi = 0;
        if (held) {
            // Pieces have what is hidden in them.
            double squares = untold ? Math.max(own.squares, hidden * hidden * 1e12) : own.squares;
            double off = Math.sqrt(Math.max(0, squares + shared.squares)) * by + slack * 1e6;
            lo = Math.min(program, (long) Math.floor(Math.max(0, own.lo * by - off) + 1e-6));
            double above = Math.min(total + (slack + hidden) * 1e6, (own.hi + shared.hi) * by + off);
            hi = Math.max(program, (long) Math.ceil(above - 1e-6));
        }
        boolean alone = shared.total <= 0 || own.total > Spec.ALONE_ZERO_PART * shared.total;
        boolean known = told && alone || !held;
        if (!known) {
            rest += program;
            program = lo = 0;
        }
        Reason why = new Reason("", "");
        if (rest > total / 100) why = gpu.because(number, shared.total > 0 && held, untold);
        return new Use(domain, told ? Spec.GPU_BY_PROCESS : Spec.GPU_UNATTRIBUTED, why.name, why.why, total, program,
            other, idle, rest, lo, hi, known, held);
    }

    /** Whether cg has not told yet who used a GPU up to the end of a task, or what, and may still. */
    static boolean awaits(Samples samples, Task task) {
        return samples.awaitsGpu(task.ended, System.nanoTime());
    }

    /** Says once of each GPU and reason why energy of it is in no task. */
    static void say(Task task, Set<String> said, BiConsumer<String, String> note) {
        for (Use use : task.gpus) {
            if (use.reason.isEmpty() || !use.held || !said.add(use.domain + " " + use.reason)) continue;
            String text = use.domain + ": nothing tells whose all of its energy in task " + task.name
                + " is, and the task is without that: " + use.why;
            if (use.reason.equals(Spec.GPU_TASKS)) {
                text = use.why + ": what " + use.domain + " used meanwhile is in none of them";
            }
            note.accept("gpu-unattributed", text);
        }
    }

    private static long whole(double micro) {
        return (long) (micro + 1e-6);
    }

    /** Why there is energy that is nobody's. */
    private Reason because(int number, boolean shared, boolean untold) {
        if (shared) return new Reason(Spec.GPU_TASKS, Spec.GPU_TASKS_WHY);
        Reason of = why(number != 0 ? number : state >>> Spec.GPU_REASON_SHIFT);
        return of.name.isEmpty() && untold ? new Reason(Spec.GPU_LATE, Spec.GPU_LATE_WHY) : of;
    }

    /** All of the time from start to end, with the task's part: 1 where it shared with none. */
    private static List<Shares.Part> stretches(long start, long end, List<Shares.Part> parts) {
        List<Shares.Part> all = new ArrayList<>();
        long at = start;
        for (Shares.Part p : parts) {
            if (p.start() > at) all.add(new Shares.Part(at, p.start(), 1));
            all.add(p);
            at = p.end();
        }
        if (end > at) all.add(new Shares.Part(at, end, 1));
        return all;
    }

    /** Brings what a ring says of GPUs. */
    static final class Reader {
        final Map<Integer, Gpu> of = new LinkedHashMap<>(); // by domain
        private final ByteBuffer memory;
        private final int at;
        private final long slots;
        private final List<Integer> places = new ArrayList<>();
        private long next;

        /** about is what the ring's JSON has, null for nothing. IOException where it lies outside of the ring. */
        Reader(ByteBuffer memory, Object about, int domains) throws IOException {
            this.memory = memory;
            Map<?, ?> m = about == null ? Map.of() : (Map<?, ?>) about;
            at = m.get("at") instanceof Number n ? n.intValue() : 0;
            slots = m.get("slots") instanceof Number n ? n.longValue() : 0;
            if (about == null) return;
            List<Reason> reasons = new ArrayList<>();
            if (m.get("reasons") instanceof List<?> all) {
                for (Object r : all) {
                    reasons.add(new Reason((String) ((Map<?, ?>) r).get("name"), (String) ((Map<?, ?>) r).get("why")));
                }
            }
            for (Object d : (List<?>) m.get("domains")) {
                places.add(((Number) d).intValue());
                of.put(((Number) d).intValue(), new Gpu(reasons));
            }
            long end = at + Spec.GPU_HEADER_BYTES + 8L * places.size() + slots * 8 * Spec.GPU_WORDS;
            if (places.isEmpty() || at <= 0 || at % 8 != 0 || slots <= 0 || end > memory.capacity()
                || places.stream().anyMatch(d -> d < 0 || d >= domains)) {
                throw new IOException("a damaged sample ring");
            }
        }

        void read() {
            if (of.isEmpty()) return;
            int first = at + Spec.GPU_HEADER_BYTES;
            long asked = Ring.word(memory, at + Spec.GPU_ASKED_OFFSET); // before the states: they are at least as new
            for (int i = 0; i < places.size(); i++) {
                of.get(places.get(i)).asked = asked;
                of.get(places.get(i)).state = Ring.word(memory, first + 8 * i);
            }
            long head = Ring.word(memory, at);
            for (next = Math.max(next, head - slots); next < head; next++) {
                int slot = first + 8 * places.size() + (int) (next % slots) * 8 * Spec.GPU_WORDS;
                long whole = 2 * next + 2;
                if (Ring.word(memory, slot) != whole) continue; // it was written over: nobody tells of that time
                double[] sums = new double[8];
                for (int i = 0; i < sums.length; i++) sums[i] = memory.getLong(slot + 32 + 8 * i);
                long place = memory.getLong(slot + 8), from = memory.getLong(slot + 16), to = memory.getLong(slot + 24);
                int reason = (int) memory.getLong(slot + 96);
                Ring.fence(); // the copy comes before the second look
                if (Ring.word(memory, slot) != whole || place < 0 || place >= places.size() || to <= from) continue;
                of.get(places.get((int) place)).add(from, to, sums, reason);
            }
        }
    }
}
