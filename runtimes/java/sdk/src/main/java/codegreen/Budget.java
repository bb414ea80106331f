package codegreen;

import java.util.List;

/** The energy that a test may use, and what runs of it tell (docs/budgets.md of cg). */
final class Budget {
    private Budget() {}

    /** A budget in joules; IllegalArgumentException for a text that is none. */
    static double parse(String text) {
        String number = strip(text);
        int end = 0;
        while (end < number.length() && "0123456789. ".indexOf(number.charAt(end)) >= 0) end++;
        int unit = Spec.BUDGET_UNITS.indexOf(number.substring(end));
        number = strip(number.substring(0, end));
        int dot = number.indexOf('.');
        boolean digits = dot < 0 ? digits(number)
            : digits(number.substring(0, dot)) && digits(number.substring(dot + 1));
        double value = unit >= 0 && digits ? Double.parseDouble(number) : 0;
        if (value > 0 && !Double.isInfinite(value)) return value * Spec.BUDGET_UNIT_J.get(unit);
        int last = Spec.BUDGET_UNITS.size() - 1;
        throw new IllegalArgumentException("\"" + text + "\": a budget is a number above 0 and "
            + String.join(", ", Spec.BUDGET_UNITS.subList(0, last)) + " or " + Spec.BUDGET_UNITS.get(last)
            + ": \"2 J\", \"500 mJ\", \"0.1 Wh\"");
    }

    /** Without blanks around it. */
    private static String strip(String text) {
        int start = 0, end = text.length();
        while (start < end && text.charAt(start) == ' ') start++;
        while (start < end && text.charAt(end - 1) == ' ') end--;
        return text.substring(start, end);
    }

    private static boolean digits(String s) {
        return !s.isEmpty() && s.chars().allMatch(c -> c >= '0' && c <= '9');
    }

    /** Joules of a run, and the bounds of them. */
    record Run(double energy, double lo, double hi) {
        /** That of a task: of the program where cg is around it, else of the machine; null where it is not known. */
        static Run of(Task task) {
            double program = task.programEnergyJ();
            if (!Double.isNaN(program)) return new Run(program, task.programEnergyLoJ(), task.programEnergyHiJ());
            double energy = task.energyJ();
            return Double.isNaN(energy) ? null : new Run(energy, task.energyLoJ(), task.energyHiJ());
        }
    }

    /** The mean of runs with its bounds in joules, and a verdict, one of Spec's. */
    record Judged(double energy, double lo, double hi, String verdict) {}

    /** Holds the interval of the runs against the budget. */
    static Judged judge(List<Run> runs, double budget, int limit) {
        int n = runs.size();
        double energy = 0, lo = 0, hi = 0, least = Double.POSITIVE_INFINITY, most = 0, spread = 0;
        for (Run r : runs) {
            energy += r.energy / n;
            lo += r.lo / n;
            hi += r.hi / n;
            least = Math.min(least, r.lo);
            most = Math.max(most, r.hi);
        }
        for (Run r : runs) spread += (r.energy - energy) * (r.energy - energy);
        double lower = n == 2 ? least : lo, upper = n == 2 ? most : hi;
        if (n >= Spec.BUDGET_LEAST_RUNS) {
            int of = Math.min(n - Spec.BUDGET_LEAST_RUNS, Spec.BUDGET_STUDENT.size() - 1);
            double slack = Spec.BUDGET_STUDENT.get(of) * Math.sqrt(spread / (n - 1)) / Math.sqrt(n);
            lower = Math.max(0, lo - slack);
            upper = hi + slack;
        }
        return new Judged(energy, lower, upper, verdict(n, limit, budget, lower, upper, lo <= budget && budget <= hi));
    }

    /** Around tells whether the mean of the bounds has the budget: more runs do not make those of one narrower. */
    private static String verdict(int n, int limit, double budget, double lo, double hi, boolean around) {
        if (hi <= budget) return Spec.BUDGET_WITHIN;
        if (n < Math.min(limit, Spec.BUDGET_LEAST_RUNS)) return Spec.BUDGET_REPEAT;
        if (lo > budget) return Spec.BUDGET_EXCEEDED;
        return n >= limit || around ? Spec.BUDGET_OPEN : Spec.BUDGET_REPEAT;
    }
}
