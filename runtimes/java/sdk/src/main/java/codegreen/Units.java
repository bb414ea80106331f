package codegreen;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Units of work that tasks count, and what one of them takes (docs/session.md of cg). */
final class Units {
    private Units() {}

    /**
     * Counts with n more of a unit.
     *
     * @throws IllegalArgumentException where n is no number above 0, the unit no word, or the sum too large
     */
    static Map<String, Double> plus(Map<String, Double> counts, double n, String unit) {
        if (!isUnit(unit)) {
            throw new IllegalArgumentException("count: the unit \"" + unit
                + "\": use letters, digits, _ and -, with a letter or _ in front");
        }
        if (!(n > 0) || Double.isInfinite(n)) {
            throw new IllegalArgumentException("count: " + n + " " + unit + ": a count is a number above 0");
        }
        double sum = counts.getOrDefault(unit, 0.0) + n;
        if (Double.isInfinite(sum)) {
            throw new IllegalArgumentException("count: " + n + " " + unit + " more are too many");
        }
        Map<String, Double> out = new LinkedHashMap<>(counts);
        out.put(unit, sum);
        return Collections.unmodifiableMap(out);
    }

    private static boolean isUnit(String name) {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_';
            if (!letter && (i == 0 || c != '-' && (c < '0' || c > '9'))) return false;
        }
        return !name.isEmpty();
    }

    /** What the units of a task take. */
    static List<Map<String, Object>> of(Task t) {
        List<Map<String, Object>> out = new ArrayList<>();
        t.units().forEach((unit, n) -> out.add(entry(unit, n, Sum.of(t.energy))));
        return out;
    }

    /**
     * What the units of all tasks together take. A task inside another that counts the same unit is left out: its
     * energy is in that one's.
     */
    static List<Map<String, Object>> of(List<Task> tasks) {
        Map<String, Double> counts = new LinkedHashMap<>();
        Map<String, Sum> sums = new LinkedHashMap<>();
        for (Task t : tasks) {
            t.units().forEach((unit, n) -> {
                for (Task o = t.parent; o != null; o = o.parent) if (o.units().containsKey(unit)) return;
                Sum before = counts.containsKey(unit) ? sums.get(unit) : new Sum(0, 0, 0, new Division.Share(0, 0, 0));
                counts.merge(unit, n, Double::sum);
                sums.put(unit, Sum.plus(before, Sum.of(t.energy)));
            });
        }
        List<Map<String, Object>> out = new ArrayList<>();
        counts.forEach((unit, n) -> {
            if (!Double.isInfinite(n)) out.add(entry(unit, n, sums.get(unit)));
        });
        return out;
    }

    /** Microjoules of one or more tasks, with their bounds and the program's share, which is null where not known. */
    private record Sum(long total, long lo, long hi, Division.Share program) {
        static Sum of(Energy e) {
            return e == null ? null : new Sum(e.total(), e.lo(), e.hi(), e.program());
        }

        /** Null where one is not known. */
        static Sum plus(Sum a, Sum b) {
            if (a == null || b == null) return null;
            return new Sum(a.total + b.total, a.lo + b.lo, a.hi + b.hi, Division.Share.sum(a.program, b.program));
        }
    }

    private static Map<String, Object> entry(String unit, double n, Sum e) {
        Division.Share program = e == null ? null : e.program;
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("name", unit);
        out.put("count", n);
        out.put("energy_j", e == null ? null : known(e.total / 1e6 / n));
        out.put("energy_lo_j", e == null ? null : known(e.lo / 1e6 / n));
        out.put("energy_hi_j", e == null ? null : known(e.hi / 1e6 / n));
        out.put("count_per_j", e == null ? null : known(n / (e.total / 1e6)));
        out.put("count_per_j_lo", e == null ? null : known(n / (e.hi / 1e6)));
        out.put("count_per_j_hi", e == null ? null : known(n / (e.lo / 1e6)));
        out.put("program_energy_j", program == null ? null : known(program.total() / 1e6 / n));
        out.put("program_energy_lo_j", program == null ? null : known(program.lo() / 1e6 / n));
        out.put("program_energy_hi_j", program == null ? null : known(program.hi() / 1e6 / n));
        return out;
    }

    private static Double known(double v) {
        return Double.isInfinite(v) || Double.isNaN(v) ? null : (Double) v;
    }
}
