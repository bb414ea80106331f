package codegreen;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A series of samples that grows at its end: times in ns of CLOCK_MONOTONIC,
 * cumulative energies of all domains at the same instants in microjoules.
 *
 * <p>{@link #between} computes the energy of a part of it by the rule of cg's own
 * {@code nemb.Series.Between}: by bracket where the power before and after is
 * steady, else by interpolation.
 */
final class Samples {
    /** From the best method to the weakest. */
    static final List<String> METHODS =
        List.of(Spec.METHOD_BRACKET, Spec.METHOD_INTERPOLATION, Spec.METHOD_SAMPLED, Spec.METHOD_SHARED);

    /** Spec.STILL_NS, which tests make shorter. */
    static long still = Spec.STILL_NS;

    /** An energy in J, how far the true one is from it at a steady power, and the method. */
    record Span(double joules, double slack, String method) {}

    /** Numbers in a list that grows. */
    static final class Longs {
        long[] all = new long[256];
        int size;

        void add(long v) {
            if (size == all.length) all = Arrays.copyOf(all, 2 * size);
            all[size++] = v;
        }

        long get(int i) {
            return all[i];
        }

        /** How many at the beginning are at most v; they are in order. */
        int atMost(long v) {
            int low = 0, high = size;
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (all[middle] <= v) low = middle + 1;
                else high = middle;
            }
            return low;
        }

        void keep(BitSet which) {
            int n = 0;
            for (int i = 0; i < size; i++) if (which.get(i)) all[n++] = all[i];
            size = n;
        }
    }

    /** The updates of one counter: each came after first and not after last (ns), and tells uJ up to it. */
    private static final class Knots {
        final Longs first = new Longs(), last = new Longs(), micro = new Longs();
        /** The bits of the squares of what the counter hides up to each, in J. */
        final Longs hides = new Longs();
        final Habits.Changes changes;

        Knots(Habits habits) {
            changes = new Habits.Changes(habits);
        }

        int size() {
            return last.size;
        }

        double hides(int i) {
            return Double.longBitsToDouble(hides.get(i));
        }

        /** How many at the beginning are before t, or at it, too. */
        int count(double t, boolean with) {
            int low = 0, high = size();
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (at(middle) < t || with && at(middle) == t) low = middle + 1;
                else high = middle;
            }
            return low;
        }

        /** The middle of what is possible. */
        double at(int i) {
            return last.get(i) - (last.get(i) - first.get(i)) / 2.0;
        }

        double joules(int i) {
            return micro.get(i) * 1e-6;
        }

        /** Power in W over some time from knot i on, or back by -1, and that time in ns. */
        double[] slope(int i, int by) {
            int j = i;
            for (int n = i + by; n >= 0 && n < size() && Math.abs(at(n) - at(i)) <= Spec.AROUND_NS; n += by) j = n;
            double over = Math.abs(at(j) - at(i));
            return over == 0 ? new double[2] : new double[] {Math.abs(joules(j) - joules(i)) / over * 1e9, over};
        }

        Span bracket(long start, long end) {
            int i = last.atMost(start) - 1; // the last that is surely before
            int j = first.atMost(end - 1);  // the first that is surely after
            if (i < 0 || j >= size() || end < start) return null;
            double[] before = slope(i, -1), after = slope(j, 1);
            if (before[1] < Spec.AROUND_NS / 4.0 || after[1] < Spec.AROUND_NS / 4.0) return null;
            if (Math.abs(before[0] - after[0]) > Spec.STEADY_PART * Math.max(before[0], after[0])) return null;
            double base = (before[0] * before[1] + after[0] * after[1]) / (before[1] + after[1]);
            double outside = (start - at(i)) + (at(j) - end);
            double joules = Math.max(0, joules(j) - joules(i) - base * outside * 1e-9);
            double doubt = Math.hypot((last.get(i) - first.get(i)) / 2.0, (last.get(j) - first.get(j)) / 2.0); // ns
            double slack = base * doubt * 1e-9;
            // Interpolation takes the mean power between two updates for that of the task.
            double apart = (at(i + 1) - at(i) + at(j) - at(j - 1)) / 2;
            double inside = joules / Math.max(1, end - start) * 1e9;
            if (Math.abs(inside - base) * apart / 2 * 1e-9 < slack / Math.sqrt(3)) return null;
            // Where power is another after the task, nothing tells when it changed.
            slack += Math.max(Math.abs(before[0] - base), Math.abs(after[0] - base)) * outside * 1e-9;
            return new Span(joules, slack, Spec.METHOD_BRACKET);
        }

        Span interpolate(long start, long end) {
            if (size() < 2 || end < start || at(0) > start || at(size() - 1) < end) return null;
            double[] a = onLine(start), b = onLine(end);
            return new Span(b[0] - a[0], Math.hypot(a[1], b[1]), Spec.METHOD_INTERPOLATION);
        }

        private double[] onLine(long t) {
            int low = 0, high = size();
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (at(middle) <= t) low = middle + 1;
                else high = middle;
            }
            int i = Math.min(Math.max(1, low), size() - 1);
            double watts = (joules(i) - joules(i - 1)) / Math.max(1, at(i) - at(i - 1));
            long slack = Math.max(last.get(i - 1) - first.get(i - 1), last.get(i) - first.get(i));
            return new double[] {joules(i - 1) + watts * (t - at(i - 1)), watts * slack / 2};
        }
    }

    final List<Domain> domains;
    Division division; // null where the samples tell of no program
    Map<Integer, Gpu> gpus = Map.of(); // by domain, those of which cg tells who used them
    final Longs times = new Longs(), flags = new Longs();
    final Longs[] energies;
    private final Knots[] knots;
    private long[] whole; // energies of the last sample without a failed reading
    private long wholeAt;
    private final long[] moved; // when each counter was seen to move last, or was seen first
    private final Longs[] idle; // from, to, from, to ...: when each did not move for longer than still
    private boolean failing;    // the newest sample is one whose reading failed
    long late;                  // ns whose energy only a sum over them has, since readings failed
    long count, gaps;
    boolean failed;

    /** The weakest kind of the domains that make up the total; the lock of the samples is held. */
    String kind() {
        int worst = -1;
        for (Domain d : domains) {
            if (!d.inTotal()) continue;
            int kind = Spec.KINDS.indexOf(d.method());
            worst = Math.max(worst, kind < 0 ? Spec.KINDS.size() - 1 : kind); // one of a later cg is not trusted
        }
        return worst < 0 ? "unavailable" : worst == 0 && failed ? "derived" : Spec.KINDS.get(worst);
    }
    int prunedAt;

    Samples(List<Domain> domains) {
        this.domains = domains;
        energies = new Longs[domains.size()];
        knots = new Knots[domains.size()];
        moved = new long[domains.size()];
        idle = new Longs[domains.size()];
        for (int d = 0; d < energies.length; d++) {
            energies[d] = new Longs();
            knots[d] = new Knots(domains.get(d).habits());
            idle[d] = new Longs();
        }
    }

    /** Takes in a sample. It keeps its own copy of the energies. */
    void add(long t, long flag, long[] micro) {
        times.add(t);
        flags.add(flag);
        count++;
        for (int d = 0; d < micro.length; d++) energies[d].add(micro[d]);
        if ((flag & Spec.FLAG_GAP) != 0) gaps++;
        if ((flag & Spec.FLAG_FAILED) != 0) {
            failed = failing = true;
            return;
        }
        if (failing && whole != null) late += t - wholeAt;
        failing = false;
        if (whole == null) Arrays.fill(moved, t);
        for (int d = 0; whole != null && d < micro.length; d++) {
            if (micro[d] <= whole[d]) continue;
            if (wholeAt - moved[d] > still) {
                idle[d].add(moved[d]);
                idle[d].add(t);
            }
            moved[d] = t;
            long behind = t - wholeAt, period = domains.get(d).periodNs();
            if (period > 0 && period < behind) behind = period;
            knots[d].first.add(t - behind);
            knots[d].last.add(t);
            knots[d].micro.add(micro[d]);
            int last = knots[d].size() - 1;
            double hides = knots[d].changes.add(knots[d].at(last), knots[d].joules(last));
            knots[d].hides.add(Double.doubleToLongBits(hides));
        }
        whole = micro.clone();
        wholeAt = t;
    }

    /**
     * Why the counter of domain d tells nothing of the time from start to end, "" where it does: what is in the
     * total draws something as long as it is on.
     */
    String silent(int d, long start, long end) {
        Domain of = domains.get(d);
        if (!of.inTotal() || of.method().equals("estimated") || whole == null) return "";
        if (wholeAt < end && end <= latest()) return "the counter of " + of.id() + " could not be read to the end";
        if (knots[d].size() == 0) return "the counter of " + of.id() + " has not moved";
        if (of.periodNs() <= 0 || of.periodNs() > Spec.OFTEN_NS) return "";
        for (int i = 0; i <= idle[d].size; i += 2) {
            boolean last = i == idle[d].size;
            long from = last ? moved[d] : idle[d].get(i), to = last ? wholeAt : idle[d].get(i + 1);
            if (to - from > still && from < end && to > start) {
                double seconds = (to - from) * 1e-9;
                return String.format(Locale.ROOT, "the counter of %s is stuck: it has not moved for %.1f s",
                    of.id(), seconds);
            }
        }
        return "";
    }

    /** Why the energy from start to end is not known, "" where the samples do not reach so far. */
    String unknown(long start, long end) {
        if (latest() < end) return "";
        return IntStream.range(0, domains.size()).mapToObj(d -> silent(d, start, end))
            .filter(w -> !w.isEmpty()).collect(Collectors.joining("; "));
    }

    /** Whether all readings were good and no counter of the total moved. */
    boolean unmoved() {
        return !failed && IntStream.range(0, domains.size())
            .noneMatch(d -> domains.get(d).inTotal() && knots[d].size() > 0);
    }

    /** The time of the last sample, 0 before the first. */
    long latest() {
        return times.size == 0 ? 0 : times.get(times.size - 1);
    }

    /** Microjoules of domain d since the first sample, linear between samples; NaN outside of them. */
    double energyAt(int d, long t) {
        int i = times.atMost(t) - 1;
        if (i < 0) return Double.NaN;
        double a = energies[d].get(i);
        if (times.get(i) == t) return a;
        if (i + 1 >= times.size) return Double.NaN;
        return a + (energies[d].get(i + 1) - a) * (t - times.get(i)) / (times.get(i + 1) - times.get(i));
    }

    /** Microjoules of domain d up to t: linear between the updates of its counter. */
    double curve(int d, long t) {
        Knots k = knots[d];
        if (k.size() < 2) {
            double e = energyAt(d, t);
            return Double.isNaN(e) ? 0 : e;
        }
        if (t <= k.at(0)) return k.joules(0) * 1e6;
        if (t >= k.at(k.size() - 1)) return k.joules(k.size() - 1) * 1e6;
        return k.onLine(t)[0] * 1e6;
    }

    /** By how much the energy of domain d from start to end may be off since its counter is late, in J. */
    double lag(int d, long start, long end) {
        Knots k = knots[d];
        return domains.get(d).habits().lag(new Habits.Updates(k.size(), k::at, k::joules), start, end);
    }

    /**
     * What the counter of domain d, which samples a part of the time alone, may hide of the parts of a task, which are
     * in the order of time, in J. The update that shows a change may come after several of them, and is in one alone.
     */
    double hidden(int d, List<Shares.Part> parts) {
        Knots k = knots[d];
        double squares = 0;
        int counted = 0;
        for (Shares.Part p : parts) {
            int i = Math.max(counted, k.count(p.start(), true));
            int j = k.count((double) p.end() + domains.get(d).habits().period(), false);
            if (j <= i) continue;
            squares += k.hides(j - 1) - (i > 0 ? k.hides(i - 1) : 0);
            counted = j;
        }
        return Math.sqrt(Math.max(0, squares));
    }

    /** How far from the ends of tasks samples are looked at, in ns. */
    long reach(long intervalNs) {
        long most = Math.max(5 * Spec.AROUND_NS, 20 * intervalNs);
        for (Domain d : domains) most = Math.max(most, d.habits().reach());
        return most;
    }

    /**
     * Whether cg is waited for at a moment: it has not told yet who used a GPU up to then, or what, and will. A driver
     * has GPU_PATIENCE_NS for that, and the counter of a GPU that the program uses as much more as it is late.
     */
    boolean awaitsGpu(long end, long at) {
        return gpus.entrySet().stream().anyMatch(of -> {
            Gpu gpu = of.getValue();
            long ahead = domains.get(of.getKey()).habits().ahead(), driver = end + Spec.GPU_PATIENCE_NS;
            boolean untold = ahead > 0 && latest() < end + ahead && gpu.mayUse(end);
            return at < driver && (gpu.awaited(end) || untold)
                || at < driver + ahead && untold && gpu.is(Spec.GPU_HELD);
        });
    }

    /** The energy of domain d from start to end, null where the samples do not reach so far. */
    Span between(int d, long start, long end) {
        Span found = knots[d].bracket(start, end);
        if (found == null) found = knots[d].interpolate(start, end);
        if (found != null) return found;
        double a = energyAt(d, start), b = energyAt(d, end);
        if (Double.isNaN(a) || Double.isNaN(b) || end < start) return null;
        double value = (b - a) * 1e-6;
        int i = times.atMost(start) - 1, j = times.atMost(end - 1);
        while (i > 0 && (flags.get(i) & Spec.FLAG_FAILED) != 0) i--;
        while (j + 1 < times.size && (flags.get(j) & Spec.FLAG_FAILED) != 0) j++;
        // True is what lies between the samples inside of it and those outside, and a counter may be a period behind.
        double most = (energies[d].get(j) - energies[d].get(i)) * 1e-6, least = 0;
        int from = times.get(i) == start ? i : i + 1, to = times.get(j) == end ? j : j - 1;
        if (from <= to) least = Math.max(0, (energies[d].get(to) - energies[d].get(from)) * 1e-6);
        double behind = value / Math.max(1, end - start) * domains.get(d).periodNs();
        int known = knots[d].last.atMost(start) - 1;
        // As much as before, at most, since the counter was seen to move.
        if (value == 0 && known >= 0) behind = knots[d].slope(known, -1)[0] * (end - knots[d].at(known)) * 1e-9;
        return new Span(value, Math.max(most - value, value - least) + behind, Spec.METHOD_SAMPLED);
    }

    /**
     * Leaves out samples that are further than reach (ns) from every edge, but for one in PRUNE_ONE_IN and the
     * newest. Energies between edges stay as they are.
     */
    void prune(long[] edges, long reach) {
        int n = times.size;
        BitSet keep = new BitSet(n);
        for (int i = 0; i < n; i += Spec.PRUNE_ONE_IN) keep.set(i);
        keep.set(Math.max(0, n - Spec.PRUNE_NEWEST), n);
        for (long edge : edges) {
            int from = Math.max(0, times.atMost(edge - reach - 1) - 1);
            int to = Math.min(n, times.atMost(edge + reach) + 1);
            if (from < to) keep.set(from, to);
        }
        long recent = n == 0 ? 0 : times.get(Math.max(0, n - Spec.PRUNE_NEWEST));
        for (int d = 0; d < knots.length; d++) {
            Knots k = knots[d];
            BitSet kept = new BitSet(k.size());
            for (int i = 0; i < k.size(); i++) {
                long last = k.last.get(i);
                int at = times.atMost(last) - 1;
                boolean sampled = at >= 0 && times.get(at) == last && keep.get(at);
                if (sampled || last >= recent || i % Spec.PRUNE_ONE_IN == 0) kept.set(i);
            }
            k.first.keep(kept);
            k.last.keep(kept);
            k.micro.keep(kept);
            k.hides.keep(kept);
            energies[d].keep(keep);
        }
        times.keep(keep);
        flags.keep(keep);
        prunedAt = times.size;
        if (division != null) division.prune(edges);
        for (Gpu gpu : gpus.values()) gpu.prune(edges);
    }
}
