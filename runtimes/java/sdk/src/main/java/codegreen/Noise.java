package codegreen;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How evenly a task drew power, from its samples. */
final class Noise {
    private Noise() {}

    /** The noise block of a task that is over; null where nothing is recorded. */
    static Map<String, Object> of(Session s, Task task) {
        if (!s.record || s.source.domains.isEmpty() || !task.over) return null;
        Samples samples = s.samples;
        int from = samples.times.atMost(task.started - 1), to = Math.max(from, samples.times.atMost(task.ended)), n = to - from;
        double[] micro = new double[n];
        long period = s.source.intervalNs;
        for (int d = 0; d < samples.domains.size(); d++) {
            if (!samples.domains.get(d).inTotal()) continue;
            period = Math.max(period, samples.domains.get(d).periodNs());
            for (int i = 0; i < n; i++) micro[i] += samples.energies[d].get(from + i);
        }
        long[] times = Arrays.copyOfRange(samples.times.all, from, to);
        double apart = s.source.intervalNs;
        if (n >= 3) {
            long[] steps = new long[n - 1];
            for (int i = 0; i < steps.length; i++) steps[i] = times[i + 1] - times[i];
            Arrays.sort(steps);
            apart = (steps[(n - 2) / 2] + steps[(n - 1) / 2]) / 2.0;
        }
        int expected = apart > 0 ? (int) ((task.ended - task.started) / apart + 1e-6) : n; // whole intervals
        long window = Spec.NOISE_WINDOW_PERIODS * period;
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("samples_captured", n);
        out.put("samples_expected", expected);
        out.put("samples_expected_method", n >= 3 ? "observed_median" : "configured");
        out.put("drop_ratio", expected > 0 ? rounded(Math.max(0, 1 - (double) n / expected), 1e4) : 0.0);
        out.put("power_mean_w", null);
        out.put("power_std_w", null);
        out.put("power_cv_percent", null);
        out.put("power_window_ms", window / 1e6);
        out.put("sample_interval_ms", s.source.intervalNs / 1e6);
        out.put("quality", null);
        List<Double> powers = new ArrayList<>();
        int first = 0;
        for (int i = 1; i < n; i++) {
            long over = times[i] - times[first];
            if (over > 0 && over >= window * 0.99) {
                powers.add((micro[i] - micro[first]) * 1e3 / over);
                first = i;
            }
        }
        if (powers.size() < Spec.NOISE_LEAST_POWERS) return out;
        double mean = powers.stream().mapToDouble(p -> p).average().orElse(0);
        double std = Math.sqrt(powers.stream().mapToDouble(p -> (p - mean) * (p - mean)).sum() / (powers.size() - 1));
        out.put("power_mean_w", rounded(mean, 1e6));
        out.put("power_std_w", rounded(std, 1e6));
        if (mean > 0) {
            double cv = 100 * std / mean;
            out.put("power_cv_percent", rounded(cv, 1e4));
            double[] ends = ends();
            int at = 0;
            while (at < ends.length && cv >= ends[at]) at++;
            out.put("quality", Spec.NOISE_QUALITIES.get(at));
        }
        return out;
    }

    /** The record of totals.noise_warnings, null for a task that is quiet and whole. */
    static Map<String, Object> warning(Task task, Map<String, Object> noise) {
        double cv = number("CODEGREEN_NOISE_CV_PERCENT", Spec.NOISE_CV_PERCENT), drop = number("CODEGREEN_NOISE_DROP_RATIO", Spec.NOISE_DROP_PART);
        List<String> reasons = new ArrayList<>();
        if (noise.get("power_cv_percent") instanceof Double v && v >= cv) reasons.add("within_task_power_cv_above_" + plain(cv) + "pct");
        if ((Double) noise.get("drop_ratio") >= drop) reasons.add("drop_ratio_above_" + plain(100 * drop) + "pct");
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

    private static String plain(double v) {
        return v == Math.rint(v) ? Long.toString((long) v) : Double.toString(v);
    }

    private static double number(String name, double otherwise) {
        try {
            return Double.parseDouble(System.getenv(name));
        } catch (NumberFormatException | NullPointerException e) {
            return otherwise;
        }
    }

    /** The upper ends of excellent, good and moderate in percent. */
    private static double[] ends() {
        try {
            double[] ends = Arrays.stream(System.getenv("CODEGREEN_NOISE_QUALITY").split(",")).mapToDouble(Double::parseDouble).toArray();
            double[] sorted = ends.clone();
            Arrays.sort(sorted);
            if (ends.length == 3 && Arrays.equals(ends, sorted)) return ends;
        } catch (NumberFormatException | NullPointerException e) {
            // The usual ones.
        }
        return Spec.NOISE_QUALITY_ENDS_PERCENT.stream().mapToDouble(end -> end).toArray();
    }

    static double rounded(double v, double unit) {
        return Math.rint(v * unit) / unit;
    }
}
