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
 */
record Domain(String id, String kind, String parent, boolean inTotal, String method, String source,
        long periodNs, double lo, double hi, long stepUj) {
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
            m.get("step_uj") instanceof Number step ? step.longValue() : 0);
    }
}
