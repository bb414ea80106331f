package codegreen;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;

/**
 * Measures parts of a program, and writes a file at its end.
 *
 * <pre>{@code
 * try (Session s = Session.start("training-run")) {
 *     try (Task load = s.task("load")) {
 *         read();
 *     }
 *     s.task("train", () -> train());
 * }
 * }</pre>
 *
 * <p>Tasks nest; each thread, virtual ones too, has a stack of its own. A session that is not closed ends with the
 * program, also on SIGTERM and System.exit. The file, where energies come from and all rules are in
 * docs/session.md of cg. Methods may be called by any thread at a time.
 */
public final class Session implements AutoCloseable {
    static final String VERSION = "0.1.0";

    private static final ReentrantLock PROCESS = new ReentrantLock();
    static volatile Session active; // the tests' one, for budgets
    private static int finished; // sessions that wrote to the name that they have by default

    /** Settings of a session; each has a default. */
    public static final class Builder {
        private final String name;
        private Path output;
        private String format = "auto";
        private boolean save = true, neighbours = true, record;
        private int buffer;
        private long intervalNs, gaugeNs = Spec.GAUGE_PERIOD_NS;
        private List<String> gauges = List.of();
        private BiConsumer<String, String> warn =
            (slug, message) -> System.err.println("codegreen: " + Output.plain(message));

        private Builder(String name) {
            this.name = name;
        }

        /** The file, codegreen_PID.json by default; CSV where its name ends in .csv. */
        public Builder outputFile(Path path) {
            output = path;
            return this;
        }

        /** "auto" (by the file's name), "json", "csv" or "none". */
        public Builder outputFormat(String format) {
            if (!Spec.FORMATS.contains(format)) {
                throw new IllegalArgumentException("outputFormat " + format + ": use auto, json, csv or none");
            }
            this.format = format;
            return this;
        }

        /** False writes no file. */
        public Builder saveToFile(boolean yes) {
            save = yes;
            return this;
        }

        /** Whether to warn when another process has a session: counters are the machine's. True by default. */
        public Builder warnOnConcurrent(boolean yes) {
            neighbours = yes;
            return this;
        }

        /** Whether to keep every sample of every task. */
        public Builder recordTimeSeries(boolean yes) {
            record = yes;
            return this;
        }

        /** Samples that cg keeps until they are read, 16 to 1048576. */
        public Builder bufferSamples(int samples) {
            if (samples < Spec.BUFFER_LEAST || samples > Spec.BUFFER_MOST) {
                throw new IllegalArgumentException("bufferSamples " + samples + ": use 16 to 1048576");
            }
            buffer = samples;
            return this;
        }

        /** Time between two samples, 100 us to a minute; else it is the run's, or cg's. */
        public Builder sampleInterval(Duration interval) {
            intervalNs = Source.between(interval, Spec.INTERVAL_LEAST_NS, Spec.INTERVAL_MOST_NS, "sampleInterval",
                "100 us");
            return this;
        }

        /** Records what cg reads besides energies: names of metrics of cg track, such as nvml-temp, or all. */
        public Builder gauges(String... metrics) {
            gauges = Gauges.names(metrics);
            return this;
        }

        /** Time between two readings of gauges, 100 ms to a minute; a second by default. */
        public Builder gaugeInterval(Duration interval) {
            gaugeNs = Source.between(interval, Spec.GAUGE_LEAST_NS, Spec.GAUGE_MOST_NS, "gaugeInterval", "100 ms");
            return this;
        }

        /** Takes the slug (docs/session.md) and the words of each warning, in place of a line on standard error. */
        public Builder onWarning(BiConsumer<String, String> warn) {
            this.warn = warn;
            return this;
        }

        /** Begins the session; IllegalStateException while another one of this process is active. */
        public Session start() {
            return new Session(this);
        }
    }

    final String name;
    final Path output;
    final boolean record, save, csv;
    final Instant began;
    final long mono;
    private final boolean byDefault;
    private final BiConsumer<String, String> warn;
    private final Thread hook = new Thread(this::atExit, "codegreen-exit");
    private final ThreadLocal<Stack> stacks = ThreadLocal.withInitial(Stack::new);

    /** Of the samples. Where both are taken, it comes before the other. Virtual threads are not pinned by it. */
    final ReentrantLock data = new ReentrantLock();
    private final Condition woken = data.newCondition();
    final Source source;
    final Samples samples;
    final Gauges gauges; // null where none are asked for
    long stopped; // 0 while it goes on
    private long still = -1; // time of the last sample of a sampler that was waited for in vain
    private final Set<String> saidUnknown = new HashSet<>(); // slugs

    /** Of the tasks. */
    final ReentrantLock lock = new ReentrantLock();
    final List<Task> tasks = new ArrayList<>();
    final List<Task> pending = new ArrayList<>(); // whose energy is not computed
    final Shares shares = new Shares();
    private volatile Stack first; // of the thread that had the first task
    volatile boolean over;
    private final Words words = new Words();

    /** A session with all settings at their default. */
    public static Session start(String name) {
        return named(name).start();
    }

    public static Builder named(String name) {
        return new Builder(name);
    }

    private Session(Builder b) {
        PROCESS.lock();
        try {
            if (active != null) {
                throw new IllegalStateException("a session is active in this process already: " + active.name);
            }
            active = this;
            name = b.name;
            byDefault = b.output == null;
            String extra = finished > 0 ? "_" + (finished + 1) : "", ending = b.format.equals("csv") ? ".csv" : ".json";
            Path path = byDefault ? Path.of("codegreen_" + ProcessHandle.current().pid() + extra + ending) : b.output;
            output = path.toAbsolutePath();
        } finally {
            PROCESS.unlock();
        }
        record = b.record;
        save = b.save && !b.format.equals("none");
        csv = b.format.equals("csv") || b.format.equals("auto") && output.toString().toLowerCase().endsWith(".csv");
        warn = b.warn;
        List<String> why = new ArrayList<>();
        Source found;
        try {
            found = Source.open(b.intervalNs, b.buffer, record, why);
        } catch (RuntimeException | LinkageError e) { // a session never breaks the program
            why.add(e.toString());
            found = new Source();
            found.support = "none";
        }
        source = found;
        if (source.domains.isEmpty()) note("no-backend", "no energy can be measured here: " + String.join("; ", why));
        if (!source.without.isEmpty()) note("sensor-failed", "the total is without " + source.without);
        if (!source.doubts.isEmpty()) note("sensor-suspect", "energies may be wrong: " + source.doubts);
        samples = new Samples(source.domains);
        samples.division = source.division;
        samples.gpus = source.gpus;
        source.read(samples);
        gauges = b.gauges.isEmpty() ? null : new Gauges(source.cg, b.gauges, b.gaugeNs, words);
        List<String> others = Neighbours.change(true);
        if (b.neighbours && !others.isEmpty()) {
            note("concurrent", "another session is active on this machine (process " + Output.firstFive(others)
                + "): counters are the machine's, and each session has the other's energy");
        }
        Path folder = output.getParent();
        if (save && (folder == null || !Files.isWritable(folder))) {
            note("not-written", output + ": its folder cannot be written; the program goes on");
        }
        mono = System.nanoTime();
        began = Instant.now();
        source.edge();
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException e) {
            note("forgotten", "the program is ending: close the session for its file");
        }
        if (!source.domains.isEmpty() || gauges != null) {
            Thread drain = new Thread(this::drain, "codegreen-drain");
            drain.setDaemon(true);
            drain.start();
        }
        tell();
    }

    // Tasks
    /** Begins a task inside the innermost one of this thread. In a session that is over it is not measured. */
    public Task task(String name) {
        Stack stack = stacks.get();
        Task task = new Task(this, stack, name);
        if (over) {
            task.over = true;
            return task;
        }
        if (first == null) first = stack;
        else if (first != stack) Shares.prepare();
        source.edge();
        lock.lock();
        try {
            task.started = System.nanoTime();
            tasks.add(task);
            pending.add(task);
            stack.tasks.add(task);
            if (task.depth == 0) shares.enter(task.started, stack);
        } finally {
            lock.unlock();
        }
        return task;
    }

    /** Runs something as a task, and ends the task however that ends, with what it left open inside. */
    public Task task(String name, Runnable body) {
        Task task = task(name);
        try {
            body.run();
        } finally {
            leave(System.nanoTime(), task);
        }
        return task;
    }

    /** The same, for what it gives. */
    public <T, E extends Exception> T task(String name, Task.Body<T, E> body) throws E {
        Task task = task(name);
        try {
            return body.run();
        } finally {
            leave(System.nanoTime(), task);
        }
    }

    /** Begins a task by hand: the same as task. */
    public Task startTask(String name) {
        return task(name);
    }

    /** Ends the innermost task of this thread; IllegalStateException if there is none. */
    public Task stopTask() {
        return stopTask(null);
    }

    /**
     * Ends the innermost task of this thread.
     *
     * @param expected its name, null for any
     * @throws IllegalStateException if it has another name, or there is none; nothing ends then
     */
    public Task stopTask(String expected) {
        long now = System.nanoTime();
        Task top = stacks.get().top();
        if (top == null) {
            String other = expected == null ? "" : ", not " + expected + " either";
            throw new IllegalStateException("no task is open in this thread" + other);
        }
        if (expected != null && !top.name.equals(expected)) {
            throw new IllegalStateException(
                "the innermost task is " + top.name + ", not " + expected + ": stop it first");
        }
        end(now, top);
        return top;
    }

    void end(long now, Task task) {
        if (task.over || over) return;
        Task top = stacks.get().top();
        if (top != task) {
            throw new IllegalStateException(top == null ? "no task is open in this thread, not " + task.name + " either"
                : "the innermost task is " + top.name + ", not " + task.name + ": stop it first");
        }
        lock.lock();
        try {
            if (!task.over) close(now, task);
        } finally {
            lock.unlock();
        }
        source.edge();
    }

    void leave(long now, Task task) {
        lock.lock();
        try {
            List<Task> open = task.stack.tasks;
            while (!task.over && !open.isEmpty()) {
                Task top = task.stack.top();
                top.forgotten = top != task;
                close(now, top);
            }
        } finally {
            lock.unlock();
        }
        source.edge();
    }

    /** Ends the innermost task of a stack, the lock being held. */
    private void close(long now, Task task) {
        List<Task> open = task.stack.tasks;
        open.remove(open.size() - 1);
        long ended = Math.max(now, task.started);
        task.ended = open.isEmpty() ? shares.leave(ended, task.stack) : ended;
        task.over = true;
    }

    /** The tasks so far, in the order in which they began. */
    public List<Task> tasks() {
        lock.lock();
        try {
            return new ArrayList<>(tasks);
        } finally {
            lock.unlock();
        }
    }

    /** The path of the file. */
    public Path outputFile() {
        return output;
    }

    // The end
    /** Ends the session and writes its file; tasks that are open end there. A second call does nothing. */
    @Override
    public void close() {
        finish(false);
    }

    private void atExit() {
        finish(true);
    }

    private void finish(boolean forgotten) {
        data.lock();
        try {
            if (stopped != 0) return;
            stopped = System.nanoTime();
            abandon(forgotten);
            settle(true);
            source.read(samples);
            if (gauges != null) gauges.close();
            over = true;
            if (save) write();
            source.close();
            woken.signalAll();
        } catch (RuntimeException e) { // a session never breaks the program
            over = true;
            note("failed", "the session's energies cannot be computed: " + e);
        } finally {
            data.unlock();
        }
        Neighbours.change(false);
        PROCESS.lock();
        active = null;
        if (byDefault) finished++;
        PROCESS.unlock();
        try {
            if (!forgotten) Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The program is ending.
        }
        tell();
    }

    private void abandon(boolean forgotten) {
        List<String> names = new ArrayList<>();
        lock.lock();
        try {
            for (int i = tasks.size() - 1; i >= 0; i--) { // children first
                Task t = tasks.get(i);
                if (t.over) continue;
                t.forgotten = true;
                t.ended = Math.max(stopped, t.started);
                t.over = true;
                names.add(0, t.name);
            }
            shares.clear(stopped);
        } finally {
            lock.unlock();
        }
        if (forgotten) note("forgotten", "session " + name + " was not closed; it ended with the program");
        if (!names.isEmpty()) {
            note("forgotten", "task " + Output.firstFive(names) + " was not ended; it ended with the session");
        }
    }

    private void write() {
        try {
            Output.write(this);
        } catch (IOException e) {
            note("not-written", output + " cannot be written: " + e);
        }
    }

    /**
     * Draws power over time of the tasks so far into a file that ends in .html, .svg or .png; cg draws it.
     * Without cg or a time series there is a warning, and no file.
     *
     * @return whether it was drawn
     * @throws IllegalArgumentException for another ending
     */
    public boolean exportPlot(Path path) {
        try {
            return Output.plot(this, path.toAbsolutePath());
        } finally {
            tell();
        }
    }

    // Energies
    Energy energyOf(Task task) {
        data.lock();
        try {
            resolve(task, true);
            return task.energy;
        } finally {
            data.unlock();
            tell();
        }
    }

    Map<String, Object> noiseOf(Task task) {
        data.lock();
        try {
            return Noise.of(measured(), task);
        } finally {
            data.unlock();
        }
    }

    /** Computes the energies of tasks that are over, the samples' lock being held. */
    void settle(boolean wait) {
        lock.lock();
        List<Task> some = new ArrayList<>(pending);
        lock.unlock();
        for (Task t : some) resolve(t, wait);
        lock.lock();
        pending.removeIf(t -> t.resolved);
        lock.unlock();
        long lost = source.lost();
        if (stopped != 0 && lost > 0) {
            note("samples-lost", lost + " samples were written over before they were read: use a larger bufferSamples");
        }
    }

    /** Computes a task's energy once. To wait is to let the samples come that tell it. */
    private void resolve(Task task, boolean wait) {
        if (!task.over || task.resolved || task.started == 0) return;
        long due = task.ended + Spec.AROUND_NS + 2 * source.intervalNs;
        if (wait && !over && !source.domains.isEmpty()) {
            long limit = Math.max(due, System.nanoTime()) + Spec.PATIENCE_NS;
            source.read(samples);
            // One that stands still is waited for once, and not for every task.
            while (samples.latest() < due && samples.latest() != still && !source.ended()) {
                if (System.nanoTime() > limit) still = samples.latest();
                Source.pause(2);
                source.read(samples);
            }
            source.read(samples);
            while (Gpu.awaits(samples, task) && !source.ended()) {
                Source.pause(10);
                source.read(samples);
            }
        } else if (!wait && (samples.latest() < due || Gpu.awaits(samples, task))) {
            return;
        }
        lock.lock();
        shares.settle(System.nanoTime());
        List<Shares.Part> parts = shares.within(task.started, task.ended, task.stack);
        lock.unlock();
        task.resolved = true;
        if (source.domains.stream().noneMatch(Domain::inTotal)) return;
        task.energy = Energy.of(samples, task.started, task.ended, parts, task.gpus);
        Gpu.say(task, saidUnknown, this::note);
        if (task.energy != null) {
            boolean unknown = task.energy.program() == null && source.via.equals("run");
            if (unknown && saidUnknown.add("share-unknown")) {
                note("share-unknown", "the program's share of the energy of task " + task.name + " is not known: "
                    + Division.unknown(samples));
            }
            return;
        }
        String why = samples.unknown(task.started, task.ended);
        if (why.isEmpty() && !task.gpus.isEmpty()) return; // only GPUs are measured, of which a warning tells why
        String slug = why.isEmpty() ? "sampler-ended" : "energy-unknown";
        if (!saidUnknown.add(slug)) return;
        if (why.isEmpty()) note(slug, "the samples end before task " + task.name + " does: its energy is not known");
        else note(slug, "the energy of task " + task.name + " is not known: " + why);
    }

    /** Empties the ring before it is full; how often follows how full it was. */
    private void drain() {
        long period = Spec.DRAIN_NS, every = source.intervalNs * 512, calm = 0;
        long most = every > 0 ? Math.max(10_000_000, every) : Spec.DRAIN_MOST_NS; // else there are gauges alone
        data.lock();
        try {
            while (stopped == 0) {
                woken.await(Math.min(period, most), TimeUnit.NANOSECONDS);
                if (stopped != 0) return;
                source.read(samples);
                if (gauges != null) gauges.read();
                double fill = source.fill();
                if (fill > Spec.DRAIN_WARN_PART && !words.have("buffer-full")) {
                    String full = String.format("the ring of samples was %.0f %% full when it was read", 100 * fill);
                    note("buffer-full", full + ": use a larger bufferSamples");
                }
                if (fill > Spec.DRAIN_FULL_PART) {
                    period = Math.max(Spec.DRAIN_LEAST_NS, period / 2);
                    calm = 0;
                } else if (fill >= Spec.DRAIN_CALM_PART) {
                    calm = 0;
                } else if (++calm >= Spec.DRAIN_CALM_TIMES) {
                    period = Math.min(Spec.DRAIN_MOST_NS, period * 2);
                    calm = 0;
                }
                if (!record && samples.times.size > samples.prunedAt + Spec.PRUNE_AFTER) prune();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            data.unlock();
        }
    }

    /** Forgets samples that no task needs. */
    private void prune() {
        settle(false);
        List<Long> edges = new ArrayList<>(List.of(mono));
        lock.lock();
        try {
            shares.settle(System.nanoTime());
            long oldest = System.nanoTime();
            for (Task t : pending) {
                oldest = Math.min(oldest, t.started);
                edges.add(t.started);
                if (t.over) edges.add(t.ended);
            }
            shares.forget(oldest, edges);
        } finally {
            lock.unlock();
        }
        long reach = samples.reach(source.intervalNs);
        samples.prune(edges.stream().mapToLong(Long::longValue).toArray(), reach);
    }

    /** What a report is made of. The lock of the samples is held. */
    Measured measured() {
        return new Measured(name, record, source, samples, gauges, began, mono, stopped, tasks(), words);
    }

    // Words
    void note(String slug, String message) {
        words.note(slug, message);
    }

    /** Says what was noted, with no lock of the session's held. */
    private void tell() {
        if (!data.isHeldByCurrentThread()) words.tell(warn);
    }
}
