package codegreen;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Who shares the machine's energy: the stacks that have a task open, by the processor time of their
 * threads; equally where none of them used any, that of one is not known (virtual threads), or they are more
 * than 32: to ask takes a microsecond a thread, at each beginning and end.
 *
 * <p>The session's lock is held whenever a method is called.
 */
final class Shares {
    /** A part of the machine's energy from start to end. */
    record Part(long start, long end, double of) {}

    private record Period(long start, long end, Map<Stack, Double> parts) {}

    private static final int ASKED = 32;

    private final Map<Stack, Long> active = new IdentityHashMap<>(); // with the processor time when the period began
    private final List<Period> periods = new ArrayList<>(); // in the order of time, and apart
    private long since; // of the period in which several share
    private boolean sharing;

    /** Loading what tells processor times takes a while: not inside somebody's task. */
    static void prepare() {
        Times.ready();
    }

    void enter(long t, Stack stack) {
        close(t);
        active.put(stack, -1L);
        begin();
    }

    /** Gives the time at which it left: t, or that of what happened since in another thread. */
    long leave(long t, Stack stack) {
        close(t);
        active.remove(stack);
        begin();
        return Math.max(t, since);
    }

    void clear(long t) {
        close(t);
        active.clear();
        begin();
    }

    /** From now on within has what was shared until t. */
    void settle(long t) {
        if (sharing && since < t) {
            close(t);
            begin();
        }
    }

    private void begin() {
        sharing = active.size() > 1;
        if (sharing && active.size() <= ASKED) active.replaceAll((stack, before) -> Times.of(stack.thread));
    }

    private void close(long t) {
        if (t <= since) return;
        if (sharing) periods.add(new Period(since, t, parts()));
        since = t;
    }

    private Map<Stack, Double> parts() {
        boolean known = active.size() <= ASKED;
        double total = 0;
        Map<Stack, Double> parts = new IdentityHashMap<>();
        for (Map.Entry<Stack, Long> e : active.entrySet()) {
            long before = e.getValue(), now = known ? Times.of(e.getKey().thread) : -1;
            known = known && before >= 0; // a thread that is gone by now has none
            double used = now < 0 ? 0 : Math.max(0, now - before);
            parts.put(e.getKey(), used);
            total += used;
        }
        double all = total;
        if (known && all > 0) parts.replaceAll((stack, used) -> used / all);
        else parts.replaceAll((stack, used) -> 1.0 / parts.size());
        return parts;
    }

    /** When a stack shared between start and end, and what it had. */
    List<Part> within(long start, long end, Stack stack) {
        List<Part> found = new ArrayList<>();
        for (int i = endedBy(start); i < periods.size() && periods.get(i).start < end; i++) {
            Period p = periods.get(i);
            Double of = p.parts.get(stack);
            if (of != null) found.add(new Part(Math.max(start, p.start), Math.min(end, p.end), of));
        }
        return found;
    }

    /** How many periods had ended by then. */
    private int endedBy(long t) {
        int low = 0, high = periods.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (periods.get(middle).end <= t) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    /** Leaves out what nobody asks for who asks for times from t on, and adds the times of what stays. */
    void forget(long t, List<Long> edges) {
        periods.subList(0, endedBy(t)).clear();
        for (Period p : periods) {
            edges.add(p.start);
            edges.add(p.end);
        }
    }

    /** Processor times of threads in ns, -1 where they are not known. */
    static final class Times {
        private static final ThreadMXBean BEAN = bean();

        private static ThreadMXBean bean() {
            try {
                ThreadMXBean bean = ManagementFactory.getThreadMXBean();
                return bean.isThreadCpuTimeSupported() && bean.isThreadCpuTimeEnabled() ? bean : null;
            } catch (RuntimeException | LinkageError e) { // an image without java.management
                return null;
            }
        }

        static void ready() {}

        @SuppressWarnings("deprecation") // Thread.threadId is there from Java 19 on
        static long of(Thread thread) {
            try {
                return BEAN == null ? -1 : BEAN.getThreadCpuTime(thread.getId());
            } catch (RuntimeException e) { // virtual threads, in some releases
                return -1;
            }
        }
    }
}
