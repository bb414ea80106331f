package codegreen;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;

/**
 * The program's share of the energy in a part of a series. It is cg's own division (nemb/attribute/windows of cg):
 * of what a domain used from one sample to a later one, idle power is set aside, and the rest is divided by
 * processor time among the program, cg and everyone else. Windows are at least Spec.SHARE_WINDOW_NS long.
 * Times are in ns, energies in microjoules.
 */
final class Division {
    /** A sample: processor times of the program, of cg and of everyone else, and the energies. */
    private record Reading(long at, long[] used, long[] energy) {}

    /** What a domain drew whoever ran; bounds of the rest, as factors; what may be hidden where there is no rest. */
    private record Idle(double energy, double lo, double hi, double slack) {}

    private final List<Domain> domains;
    private final int processors; // of the host, 0 where that is not known
    private final long grainNs; // by how much processor times may be behind each other
    private final Samples.Longs at = new Samples.Longs(); // the end of each window, and the beginning of the first
    // By domain, up to there: what it used, what the program did of it, and the bounds of that.
    private final List<List<double[]>> sums = new ArrayList<>();
    private final double[] debts; // of domains whose idle power was measured
    private Reading edge, newest; // at the end of the last window; after it, null for none

    Division(List<Domain> domains, int processors, long grainNs) {
        this.domains = domains;
        this.processors = processors;
        this.grainNs = grainNs;
        debts = new double[domains.size()];
        for (int d = 0; d < debts.length; d++) sums.add(new ArrayList<>());
    }

    /** That of a ring whose JSON has this, null where it has none; ClassCastException for something else. */
    static Division of(List<Domain> domains, Object told) {
        if (told == null) return null;
        Map<?, ?> m = (Map<?, ?>) told;
        return new Division(domains, ((Number) m.get("processors")).intValue(),
            ((Number) m.get("grain_ns")).longValue());
    }

    /** Takes in a sample and keeps its own copy. */
    void add(long t, long flag, long[] used, long[] energy) {
        if ((flag & Spec.FLAG_FAILED) != 0) return;
        Reading r = new Reading(t, used.clone(), energy.clone());
        if (edge != null && t < edge.at + Spec.SHARE_WINDOW_NS) {
            newest = r;
            return;
        }
        for (int d = 0; d < debts.length; d++) {
            List<double[]> of = sums.get(d);
            of.add(edge == null ? new double[4] : plus(of.get(of.size() - 1), window(d, r, true), 1));
        }
        at.add(t);
        edge = r;
        newest = null;
    }

    private static double[] plus(double[] a, double[] b, double weight) {
        double[] out = a.clone();
        for (int i = 0; i < out.length; i++) out[i] += b[i] * weight;
        return out;
    }

    /** What a domain used from the edge to a reading. If the window closes, its debt is kept. */
    private double[] window(int d, Reading r, boolean closes) {
        Domain of = domains.get(d);
        double e = Math.max(0, (double) (r.energy[d] - edge.energy[d])), busy = 0;
        if (of.idling().program()) return new double[] {e, e, e, e};
        if (of.kind().equals(Spec.KIND_GPU)) return new double[] {e, 0, 0, 0};
        double[] used = new double[3];
        for (int i = 0; i < used.length; i++) {
            used[i] = Math.max(0, r.used[i] - edge.used[i]);
            busy += used[i];
        }
        double before = debts[d];
        Idle idle = idle(d, e, r.at - edge.at, busy);
        if (!closes) debts[d] = before;
        if (busy == 0) return new double[] {e, 0, 0, 0};
        double part = (e - idle.energy) * used[0] / busy;
        return new double[] {e, part, idle.lo * part, idle.hi * part + idle.slack * used[0] / busy};
    }

    private Idle idle(int d, double e, double wall, double busy) {
        Domain.Idling of = domains.get(d).idling();
        if (of.baseHi() > 0) {
            double due = debts[d] + of.base() * wall * 1e-3; // W * ns = 1e-3 uJ
            double idle = Math.min(e, due), rest = e - idle;
            debts[d] = Math.min(due - idle, of.base() * Spec.SHARE_DEBT_NS * 1e-3);
            double below = idle * (1 - of.baseLo() / of.base()), above = idle * (of.baseHi() / of.base() - 1);
            if (rest <= 0) return new Idle(idle, 1, 1, below);
            return new Idle(idle, Math.max(0, rest - above) / rest, Math.min(e, rest + below) / rest, 0);
        }
        if (of.base() > 0) return new Idle(Math.min(e, of.base() * wall * 1e-3), 1, 1, 0);
        if (of.share() <= 0 || processors <= 0 || wall <= 0) return new Idle(0, 1, 1, 0);
        double use = Math.min(1, busy / (processors * wall)), part = running(of.share(), use);
        if (part <= 0) return new Idle(e, 1, 1, 0);
        return new Idle(e - e * part, running(Math.max(of.share(), of.shareMost()), use) / part, 1 / part, 0);
    }

    private static double running(double share, double use) {
        return (1 - share) * use / (share + (1 - share) * use);
    }

    /** What domain d used up to t, linear in each window. */
    private double[] until(int d, long t) {
        int i = at.atMost(t) - 1;
        if (i < 0) return new double[4];
        double[] a = sums.get(d).get(i);
        if (i + 1 < at.size) {
            double part = (double) (t - at.get(i)) / (at.get(i + 1) - at.get(i));
            return plus(a, plus(sums.get(d).get(i + 1), a, -1), part);
        }
        if (newest == null || newest.at <= at.get(i)) return a;
        // The window that is still open ends later.
        return plus(a, window(d, newest, false), Math.min(1, (double) (t - at.get(i)) / (newest.at - at.get(i))));
    }

    /** Whether there are samples from start to end. */
    boolean known(long start, long end) {
        Reading last = newest == null ? edge : newest;
        return last != null && at.get(0) <= start && end <= last.at;
    }

    /** The program's part of the energy of domain d in these times, and the least and the most that it may be. */
    double[] part(int d, List<Shares.Part> pieces) {
        double[] sum = new double[4];
        double lasted = 0;
        for (Shares.Part p : pieces) {
            sum = plus(sum, plus(until(d, p.end()), until(d, p.start()), -1), p.of());
            lasted += (p.end() - p.start()) * p.of();
        }
        if (sum[0] <= 0) return new double[] {0, 0, 1};
        double[] out = new double[3];
        for (int i = 0; i < out.length; i++) out[i] = Math.min(1, Math.max(0, sum[i + 1] / sum[0]));
        if (domains.get(d).idling().program()) return out;
        double doubt = lasted > 0 ? Math.min(1, grainNs / lasted) : 1; // at each end the times may be late
        out[1] *= 1 - doubt;
        out[2] += (1 - out[2]) * doubt;
        return out;
    }

    /** Leaves out the windows in which no edge lies, but the newest. */
    void prune(long[] edges) {
        BitSet keep = new BitSet(at.size);
        if (at.size > 0) keep.set(at.size - 1);
        for (long edge : edges) {
            int i = at.atMost(edge - 1);
            keep.set(Math.min(at.size, Math.max(0, i - 1)), Math.min(at.size, i + 2));
        }
        for (int d = 0; d < debts.length; d++) {
            List<double[]> of = sums.get(d);
            sums.set(d, new ArrayList<>(keep.stream().mapToObj(of::get).toList()));
        }
        at.keep(keep);
    }

    /**
     * The program's share of an energy, in microjoules; the true figure is between lo and hi.
     */
    record Share(long total, long lo, long hi) {
        /** The sum of two shares, null where one is not known. */
        static Share sum(Share a, Share b) {
            return a == null || b == null ? null : new Share(a.total + b.total, a.lo + b.lo, a.hi + b.hi);
        }
    }

    /** Adds up the share of a task that ran from start to end and shared these parts of it. */
    static final class Sum {
        private final Division of; // null where nothing is known
        private final List<Shares.Part> pieces = new ArrayList<>(); // that add up to the task's part
        private long total;
        private double lo, hi;
        private boolean divided;

        Sum(Samples samples, long start, long end, List<Shares.Part> shared) {
            boolean known = samples.division != null && samples.division.known(start, end);
            of = known ? samples.division : null;
            pieces.add(new Shares.Part(start, end, 1));
            for (Shares.Part p : shared) pieces.add(new Shares.Part(p.start(), p.end(), p.of() - 1));
        }

        /**
         * Takes in the task's energy in a domain of the total: microjoules, and its bounds in J. That of a GPU is the
         * program's.
         */
        void add(int d, long micro, double below, double above) {
            if (of == null) return;
            boolean gpu = of.domains.get(d).kind().equals(Spec.KIND_GPU);
            double[] part = gpu ? new double[] {1, 1, 1} : of.part(d, pieces);
            total += (long) (micro * part[0]);
            lo += below * part[1];
            hi += above * part[2];
            divided = true;
        }

        /** Takes in what the program may have used of what is nobody's. */
        void more(double above) {
            hi += above;
        }

        /** Null where nothing is known. It is no more than most. */
        Share share(long most) {
            if (!divided) return null;
            long least = (long) Math.floor(lo * 1e6 + 1e-6), above = (long) Math.ceil(hi * 1e6 - 1e-6);
            return new Share(total, Math.min(total, least), Math.max(total, Math.min(most, above)));
        }
    }

    /** Why the program's share of an energy is not known. */
    static String unknown(Samples samples) {
        if (samples.division == null) return "the samples do not tell of the program";
        return "the samples do not reach from its start to its end";
    }
}
