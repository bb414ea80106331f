package codegreen;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntToDoubleFunction;

/**
 * How a counter follows its power: each update counts the mean power over window, which ended delay before it, for all
 * of a period, in ns (nemb/RING.md of cg).
 */
record Habits(long period, long window, long delay) {
    /** Of a counter that follows at once. */
    static final Habits NONE = new Habits(0, 0, 0);

    /** From what a ring tells in JSON, null for nothing. */
    static Habits of(Object told) {
        if (!(told instanceof Map<?, ?> m)) return NONE;
        return new Habits(number(m, "period_ns"), number(m, "window_ns"), number(m, "delay_ns"));
    }

    private static long number(Map<?, ?> m, String key) {
        return m.get(key) instanceof Number n ? n.longValue() : 0;
    }

    /** How far from a moment lag looks, in ns. */
    long reach() {
        return 2 * (period + window + delay);
    }

    /** How long after a moment a counter that is late has told what was used before, in ns; 0 for one that is not. */
    long ahead() {
        if (period <= 0 || delay <= 0 && window <= period) return 0;
        return Math.min(Spec.GPU_COUNTER_MOST_NS, window + delay + 2 * period);
    }

    /** The updates of a counter: how many, when each was (ns), and J up to it. */
    record Updates(int size, IntToDoubleFunction at, IntToDoubleFunction joules) {
        /** How many at the beginning, of the first most, are before t, or at it, too. */
        private int count(int most, double t, boolean with) {
            int low = 0, high = most;
            while (low < high) {
                int middle = (low + high) >>> 1;
                double at = this.at.applyAsDouble(middle);
                if (at < t || with && at == t) low = middle + 1;
                else high = middle;
            }
            return low;
        }

        /**
         * What the counter told at a moment: linear between updates, and on either side of all of them with the mean
         * power of the outermost second.
         */
        double told(double t) {
            int i = count(size, t, true), a = Math.max(0, i - 1), b = Math.min(i, size - 1), from = a;
            if (i == 0) {
                b = count(size - 1, at.applyAsDouble(0) + 1e9, false);
            } else if (i == size) {
                a = Math.max(0, Math.min(count(size - 1, at.applyAsDouble(size - 1) - 1e9, true), size - 2));
                b = from = size - 1;
            }
            double over = at.applyAsDouble(b) - at.applyAsDouble(a), base = joules.applyAsDouble(from);
            if (over <= 0) return base;
            return base + (joules.applyAsDouble(b) - joules.applyAsDouble(a)) * (t - at.applyAsDouble(from)) / over;
        }
    }

    /**
     * By how much an energy between two moments may be off since the counter is late, in J: the rule of cg's own
     * nemb.Habits.Lag.
     */
    double lag(Updates k, double start, double end) {
        double longer = Math.max(0, window - period), late = delay + longer / 2;
        if (late <= 0 || period <= 0 || end <= start || k.size < 2) return 0;
        DoubleUnaryOperator lacks = t -> k.told(t + late) - k.told(t);
        DoubleUnaryOperator hides = t -> {
            if (longer == 0) return 0;
            double middle = t + late;
            double after = k.told(middle + longer) - k.told(middle);
            double before = k.told(middle) - k.told(middle - longer);
            return Math.hypot((after - before) / 4, wavers(k, middle));
        };
        double off = Math.abs(lacks.applyAsDouble(end) - lacks.applyAsDouble(start))
            + Math.hypot(hides.applyAsDouble(start), hides.applyAsDouble(end));
        return longer > 0 && end - start < 2.0 * window ? Math.max(off, alone(k, start, end)) : off;
    }

    /**
     * By how much an energy may be off where the power was another one between two moments than around them: until all
     * of it is told, around them at least the lowest power is drawn that is told from then to there, and at most the
     * highest.
     */
    private double alone(Updates k, double start, double end) {
        double settled = (double) window + delay + period;
        double own = k.told(end) - k.told(start), all = k.told(end + settled) - k.told(start);
        double least = Double.POSITIVE_INFINITY, most = 0; // in J a period
        for (double t = start; t < end + settled; t += period) {
            double joules = k.told(t + period) - k.told(t);
            least = Math.min(least, joules);
            most = Math.max(most, joules);
        }
        return Math.max(all - least * settled / period - own, own - all + most * settled / period);
    }

    /** By how much a counter of means may be off at a moment since power changes faster than they show (95 %). */
    private double wavers(Updates k, double middle) {
        double n = (double) window / period, squares = 0, steps = 0;
        for (double t = middle - window; t < middle + window; t += period) {
            double change = k.told(t + 2.0 * period) - 2 * k.told(t + period) + k.told(t);
            squares += change * change;
            steps++;
        }
        return 2.3 * n * Math.sqrt(squares / steps / 2) * Math.sqrt(n / 12);
    }

    /**
     * Adds up, update by update, what a counter may hide that samples a part of the time alone: cg's own nemb.Changes.
     */
    static final class Changes {
        private final Habits habits;
        private final List<double[]> last = new ArrayList<>(); // ns and J of the updates of the last two periods
        private double sum;

        Changes(Habits habits) {
            this.habits = habits;
        }

        /** The last update that was a period before another, -1 where there is none. */
        private int before(int i) {
            if (i < 0) return -1;
            double end = last.get(i)[0] - 0.95 * habits.period;
            i--;
            while (i >= 0 && last.get(i)[0] > end) i--;
            return i;
        }

        /** Takes the next update, and gives the squares of what is hidden up to it, in J (95 %). */
        double add(double at, double joules) {
            double period = habits.period;
            if (habits.window <= 0 || habits.window >= habits.period) return 0;
            last.add(new double[] {at, joules});
            int i = before(last.size() - 1), j = before(i);
            if (j < 0) return sum;
            double[] a = last.get(i), b = last.get(j);
            double now = (joules - a[1]) * period / (at - a[0]), was = (a[1] - b[1]) * period / (a[0] - b[0]);
            double hides = 2 * (1 - habits.window / period) * (now - was);
            sum += hides * hides * Math.min(1, (at - last.get(last.size() - 2)[0]) / period);
            last.subList(0, j).clear();
            return sum;
        }
    }
}
