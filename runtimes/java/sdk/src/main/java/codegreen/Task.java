package codegreen;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A part of a program, open or over.
 *
 * <p>Energies are computed when they are asked for, some 20 ms after the end at the earliest; the first asking
 * may wait for so long. Times are CLOCK_MONOTONIC in nanoseconds, which System.nanoTime is on Linux.
 */
public final class Task implements AutoCloseable {
    /** What a task runs. */
    @FunctionalInterface
    public interface Body<T, E extends Exception> {
        T run() throws E;
    }

    final Session session;
    final Stack stack;
    final Task parent;
    final String name;
    final int depth;
    volatile long started, ended;
    volatile boolean over, forgotten;

    private final AtomicReference<Map<String, Double>> units = new AtomicReference<>(Map.of());

    // Under the lock of the session's samples.
    boolean resolved;
    Energy energy; // null where it is not known
    final List<Gpu.Use> gpus = new ArrayList<>(); // whose the energy of GPUs was, as far as that of all is known

    Task(Session session, Stack stack, String name) {
        this(session, stack, name, stack.top());
    }

    /** A task inside a parent, which may be null; the stack is what shares. */
    Task(Session session, Stack stack, String name, Task parent) {
        this.session = session;
        this.stack = stack;
        this.name = name;
        this.parent = parent;
        depth = parent == null ? 0 : parent.depth + 1;
    }

    /**
     * Ends the task. One that is over stays as it is.
     *
     * @throws IllegalStateException if it is not the innermost of this thread; nothing ends then
     */
    @Override
    public void close() {
        session.end(System.nanoTime(), this);
    }

    /**
     * Tells that the task has done n units of work: tokens, requests, frames, rows. The file says what one takes.
     * Counts of a unit add up, from any thread, also after the end of the task; the file is without those after the
     * end of the session.
     *
     * @throws IllegalArgumentException where n is no number above 0, or the unit no word; nothing is counted then
     */
    public void count(double n, String unit) {
        units.updateAndGet(counts -> Units.plus(counts, n, unit));
    }

    /** How many units of work were counted, by unit. */
    public Map<String, Double> units() {
        return units.get();
    }

    public String name() {
        return name;
    }

    /** How many tasks it is inside of. */
    public int depth() {
        return depth;
    }

    /** The enclosing task's name, null at depth 0. */
    public String parent() {
        return parent == null ? null : parent.name;
    }

    /** Whether it ended with its session, or with a task around it. */
    public boolean forgotten() {
        return forgotten;
    }

    /** From its beginning to its end in seconds, 0 while it is open. */
    public double durationS() {
        return over ? (ended - started) * 1e-9 : 0;
    }

    public long startedAtMonoNs() {
        return started;
    }

    /** 0 while it is open. */
    public long endedAtMonoNs() {
        return over ? ended : 0;
    }

    /** Joules, NaN where they are not known or the task is open. */
    public double energyJ() {
        Energy e = session.energyOf(this);
        return e == null ? Double.NaN : e.total() / 1e6;
    }

    /** The program's share of it in joules, NaN where it is not known: no run of cg is around the program. */
    public double programEnergyJ() {
        Energy e = session.energyOf(this);
        return e == null || e.program() == null ? Double.NaN : e.program().total() / 1e6;
    }

    /** The lower bound of energyJ. */
    public double energyLoJ() {
        Energy e = session.energyOf(this);
        return e == null ? Double.NaN : e.lo() / 1e6;
    }

    /** The upper bound of energyJ. */
    public double energyHiJ() {
        Energy e = session.energyOf(this);
        return e == null ? Double.NaN : e.hi() / 1e6;
    }

    /** The lower bound of programEnergyJ. */
    public double programEnergyLoJ() {
        Energy e = session.energyOf(this);
        return e == null || e.program() == null ? Double.NaN : e.program().lo() / 1e6;
    }

    /** The upper bound of programEnergyJ. */
    public double programEnergyHiJ() {
        Energy e = session.energyOf(this);
        return e == null || e.program() == null ? Double.NaN : e.program().hi() / 1e6;
    }

    /** measured, derived, estimated or unavailable. */
    public String energyKind() {
        if (session.energyOf(this) == null) return "unavailable";
        session.data.lock();
        try {
            return session.samples.kind();
        } finally {
            session.data.unlock();
        }
    }

    /** Energy by duration in watts. */
    public double avgPowerW() {
        return energyJ() / durationS();
    }

    /** Joules of the machine's parts, by domain. */
    public Map<String, Double> domains() {
        Map<String, Double> out = new LinkedHashMap<>();
        Energy e = session.energyOf(this);
        if (e != null) e.domains().forEach((id, micro) -> out.put(id, micro / 1e6));
        return out;
    }

    /**
     * Whose the energy of each of the machine's GPUs was, by the names of the file; empty without any. It waits up to
     * 1.2 s after the task's end, where the program may have used one.
     */
    public List<Map<String, Object>> gpus() {
        session.energyOf(this);
        return gpus.stream().map(Gpu.Use::entry).toList();
    }

    /** How evenly it drew power, by the names of the file; null without a time series. */
    public Map<String, Object> noise() {
        return session.energyOf(this) == null ? null : session.noiseOf(this);
    }

    @Override
    public String toString() {
        if (!over) return "codegreen task " + name + ", open";
        return String.format("codegreen task %s, %.6g J in %.6g s", name, energyJ(), durationS());
    }
}
