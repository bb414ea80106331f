package codegreen;

import java.util.Map;

/**
 * A part of the machine whose energy one counter tells.
 *
 * @param parent   id of the domain that includes it, "" for none
 * @param inTotal  whether it is part of the machine's total
 * @param method   measured, derived or estimated
 * @param periodNs between two updates of its counter, 0 where that is not known
 * @param lo       with hi: the true energy is between these times the figure
 * @param stepUj   the least by which it moves, 0 where that is not known
 * @param idling   what it draws whoever runs
 * @param habits   how its counter follows its power
 */
record Domain(String id, String kind, String parent, boolean inTotal, String method, String source,
        long periodNs, double lo, double hi, long stepUj, Idling idling, Habits habits) {
    /**
     * What a domain draws whoever runs (nemb/RING.md of cg): watts, and parts of its full power.
     *
     * @param program whether its energy is the program's alone
     */
    record Idling(
            boolean program, double base, double baseLo, double baseHi, double share, double shareMost) {
        static final Idling NONE = new Idling(false, 0, 0, 0, 0, 0);

        static Idling of(Map<?, ?> m) {
            return new Idling(Boolean.TRUE.equals(m.get("program")), number(m, "base_w"), number(m, "base_lo_w"),
                number(m, "base_hi_w"), number(m, "idle_share"), number(m, "idle_share_most"));
        }

        private static double number(Map<?, ?> m, String key) {
            return m.get(key) instanceof Number n ? n.doubleValue() : 0;
        }
    }

    Domain(String id, String kind, String parent, boolean inTotal, String method, String source,
            long periodNs, double lo, double hi, long stepUj) {
        this(id, kind, parent, inTotal, method, source, periodNs, lo, hi, stepUj, Idling.NONE, Habits.NONE);
    }

    Domain(String id, String kind, String parent, boolean inTotal, String method, String source,
            long periodNs, double lo, double hi) {
        this(id, kind, parent, inTotal, method, source, periodNs, lo, hi, 0);
    }

    /** From what a ring tells in JSON; ClassCastException or NullPointerException for something else. */
    static Domain of(Map<?, ?> m) {
        return new Domain((String) m.get("id"), (String) m.get("kind"), (String) m.get("parent"),
            (Boolean) m.get("in_total"), (String) m.get("method"), (String) m.get("source"),
            ((Number) m.get("period_ns")).longValue(),
            ((Number) m.get("lo")).doubleValue(), ((Number) m.get("hi")).doubleValue(),
            m.get("step_uj") instanceof Number step ? step.longValue() : 0, Idling.of(m),
            Habits.of(m.get("habits")));
    }
}
