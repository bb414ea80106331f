package codegreen;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How evenly a task drew power, from its samples: the rule of runtimes/sdk/spec/cases/noise.json of cg. */
final class Noise {
    private Noise() {}

    /**
     * What is known of a task.
     *
     * @param times    of its samples, in ns
     * @param flags    of each
     * @param micro    the machine's energy at each, in uJ
     * @param lasted   how long it took, in ns
     * @param interval that was asked for, in ns
     * @param period   of the slowest counter in ns, 0 where it is not known
     * @param fast     the energy of the counters that are not slow, null where none is
     * @param usual    the period of the slowest of those
     */
    record Stretch(long[] times, long[] flags, double[] micro, long lasted, long interval, long period, double[] fast,
            long usual) {
        /** The same of the counters that are not slow; null where none is. */
        private Stretch others() {
            return fast == null ? null : new Stretch(times, flags, fast, lasted, interval, usual, null, 0);
        }

        /** The mean power (W) of the counters that are slow. */
        private double slow() {
            int first = -1, last = -1;
            for (int i = 0; i < times.length; i++) {
                if ((flags[i] & Spec.FLAG_FAILED) != 0) continue;
                if (first < 0) first = i;
                last = i;
            }
            if (first == last) return 0;
            return (micro[last] - fast[last] - micro[first] + fast[first]) * 1e3 / (times[last] - times[first]);
        }

        /** Powers (W) of neighbouring windows and their lengths (s). A sample whose reading failed ends none. */
        private List<double[]> powers() {
            List<double[]> all = new ArrayList<>();
            long window = Spec.NOISE_WINDOW_PERIODS * (period > 0 ? period : interval);
            int first = -1;
            for (int i = 0; i < times.length; i++) {
                if ((flags[i] & Spec.FLAG_FAILED) != 0) continue;
                if (first >= 0) {
                    long over = times[i] - times[first];
                    if (over <= 0 || over < window) continue;
                    all.add(new double[] {(micro[i] - micro[first]) * 1e3 / over, over * 1e-9});
                }
                first = i;
            }
            return all;
        }

        /** The time between two samples: the median, or what was asked for where there are fewer than three. */
        private double apart() {
            int n = times.length;
            if (n < 3) return interval;
            long[] steps = new long[n - 1];
            for (int i = 0; i < steps.length; i++) steps[i] = times[i + 1] - times[i];
            Arrays.sort(steps);
            return (steps[(n - 2) / 2] + steps[(n - 1) / 2]) / 2.0;
        }
    }

    /**
     * The variation in percent and the part of samples missing from which a task is warned of, and the upper ends of
     * qualities.
     */
    record Limits(double cv, double drop, double[] ends) {
        /** Those that an environment sets. */
        static Limits of(Map<String, String> environment) {
            double[] usual = Spec.NOISE_QUALITY_ENDS_PERCENT.stream().mapToDouble(end -> end).toArray(), ends = usual;
            try {
                String[] said = environment.getOrDefault("CODEGREEN_NOISE_QUALITY", "").split(",");
                double[] set = Arrays.stream(said).mapToDouble(Double::parseDouble).toArray(), sorted = set.clone();
                Arrays.sort(sorted);
                if (set.length == usual.length && Arrays.equals(set, sorted)) ends = set;
            } catch (NumberFormatException e) {
                // The usual ones.
            }
            return new Limits(number(environment, "CODEGREEN_NOISE_CV_PERCENT", Spec.NOISE_CV_PERCENT),
                number(environment, "CODEGREEN_NOISE_DROP_RATIO", Spec.NOISE_DROP_PART), ends);
        }

        private static double number(Map<String, String> environment, String name, double otherwise) {
            try {
                return Double.parseDouble(environment.getOrDefault(name, ""));
            } catch (NumberFormatException e) {
                return otherwise;
            }
        }
    }

    /** The noise block of a task that is over; null where nothing is recorded. */
    static Map<String, Object> of(Measured m, Task task) {
        if (!m.record() || m.source().domains.isEmpty() || !task.over) return null;
        Samples samples = m.samples();
        int from = samples.times.atMost(task.started - 1), to = Math.max(from, samples.times.atMost(task.ended));
        double[] micro = new double[to - from];
        double[] fast = new double[to - from];
        long period = 0, usual = 0, least = Long.MAX_VALUE;
        for (var d : samples.domains) if (d.inTotal() && d.periodNs() > 0) least = Math.min(least, d.periodNs());
        boolean some = false;
        for (int d = 0; d < samples.domains.size(); d++) {
            if (!samples.domains.get(d).inTotal()) continue;
            long each = samples.domains.get(d).periodNs();
            boolean slow = least < Long.MAX_VALUE && each > Spec.NOISE_SLOW_TIMES * least;
            some |= slow;
            period = Math.max(period, each);
            if (!slow) usual = Math.max(usual, each);
            for (int i = 0; i < micro.length; i++) {
                micro[i] += samples.energies[d].get(from + i);
                if (!slow) fast[i] += samples.energies[d].get(from + i);
            }
        }
        long[] times = Arrays.copyOfRange(samples.times.all, from, to);
        long[] flags = Arrays.copyOfRange(samples.flags.all, from, to);
        Stretch all = new Stretch(times, flags, micro, task.ended - task.started, m.source().intervalNs, period,
            some ? fast : null, usual);
        return of(all, Limits.of(System.getenv()));
    }

    static Map<String, Object> of(Stretch s, Limits limits) {
        int n = s.times.length;
        double apart = s.apart();
        int expected = apart > 0 ? Math.max(n, (int) (s.lasted / apart + 1e-6)) : n; // whole intervals
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("samples_captured", n);
        out.put("samples_expected", expected);
        out.put("samples_expected_method", n >= 3 ? "observed_median" : "configured");
        out.put("drop_ratio", expected > 0 ? 1 - (double) n / expected : 0.0);
        out.put("power_mean_w", null);
        out.put("power_std_w", null);
        out.put("power_cv_percent", null);
        out.put("power_window_ms", null);
        out.put("sample_interval_ms", s.interval / 1e6);
        out.put("quality", null);
        List<double[]> powers = s.powers();
        double beside = 0;
        if (powers.size() < Spec.NOISE_LEAST_POWERS && s.others() != null) {
            powers = s.others().powers();
            beside = s.slow();
        }
        double seconds = powers.stream().mapToDouble(p -> p[1]).sum();
        double usual = powers.stream().mapToDouble(p -> p[0] * p[1]).sum() / seconds, mean = usual + beside;
        if (powers.size() < Spec.NOISE_LEAST_POWERS || !(usual > 0)) return out;
        double squares = powers.stream().mapToDouble(p -> (p[0] - usual) * (p[0] - usual) * p[1]).sum();
        double std = Math.sqrt(squares / seconds * powers.size() / (powers.size() - 1));
        if (std < Spec.NOISE_ZERO_PART * mean) std = 0;
        double cv = 100 * std / mean;
        out.put("power_mean_w", mean);
        out.put("power_std_w", std);
        out.put("power_cv_percent", cv);
        out.put("power_window_ms", seconds * 1e3 / powers.size());
        int at = 0;
        while (at < limits.ends.length && cv >= limits.ends[at]) at++;
        out.put("quality", Spec.NOISE_QUALITIES.get(at));
        return out;
    }

    /** Why a task is warned of; empty for one that is quiet and whole. */
    static List<String> reasons(Map<String, Object> noise, Limits limits) {
        List<String> reasons = new ArrayList<>();
        double drop = (Double) noise.get("drop_ratio");
        if (noise.get("power_cv_percent") instanceof Double v && v >= limits.cv) {
            reasons.add("within_task_power_cv_above_" + plain(limits.cv) + "pct");
        }
        if (drop > 0 && drop >= limits.drop) reasons.add("drop_ratio_above_" + plain(100 * limits.drop) + "pct");
        return reasons;
    }

    /** The record of totals.noise_warnings, null for a task that is quiet and whole. */
    static Map<String, Object> warning(Task task, Map<String, Object> noise) {
        List<String> reasons = reasons(noise, Limits.of(System.getenv()));
        if (reasons.isEmpty()) return null;
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("task", task.name);
        out.put("depth", task.depth);
        out.put("within_task_power_cv_percent", noise.get("power_cv_percent"));
        out.put("drop_ratio", noise.get("drop_ratio"));
        out.put("quality", noise.get("quality"));
        out.put("reasons", reasons);
        return out;
    }

    /** A number with six digits at most. */
    private static String plain(double v) {
        if (Double.isNaN(v) || Double.isInfinite(v)) return Double.toString(v);
        BigDecimal short6 = new BigDecimal(v).round(new MathContext(6)).stripTrailingZeros();
        return short6.signum() == 0 ? "0" : short6.toPlainString();
    }

    /** A power with six decimals; halves go to the even one. */
    static double rounded(double power) {
        return Math.rint(power * 1e6) / 1e6;
    }
}
