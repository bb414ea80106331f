package codegreen;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * Counters below /sys/class/powercap, read by the program itself where cg is not there and they may be
 * read (kernel documentation: power/powercap/powercap.rst). Only a thread of its own reads them: one that hangs
 * holds neither the program nor the session's end.
 */
final class Powercap extends Source {
    /** A counter's file. */
    interface Reading extends Closeable {
        long micro() throws IOException;
    }

    static final class Counter {
        private final Reading file;
        private final long wrap;
        private long raw, readAt, total; // the last reading that did not fail and when that was, 0 for none

        Counter(Reading file, long wrap) {
            this.file = file;
            this.wrap = wrap;
        }
    }

    private record Kept(long at, long flags, long[] micro) {}

    private final List<Counter> counters;
    private long at;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private List<Kept> kept = new ArrayList<>();
    private long asked, given, late; // numbers of samples that were asked for, are there, did not come in time
    private boolean over;

    Powercap(List<Domain> domains, List<Counter> counters, long intervalNs) {
        via = "powercap";
        this.domains = domains;
        this.counters = counters;
        this.intervalNs = intervalNs;
        support = Spec.SUPPORTS.get(Math.min(2, domains.size()));
        Thread thread = new Thread(this::loop, "codegreen-powercap");
        thread.setDaemon(true);
        thread.start();
        edge();
    }

    /** What makes up a machine's energy, why some of it cannot be read, and what is wrong with a unit. */
    static final class Found {
        final List<Domain> domains = new ArrayList<>();
        final List<Counter> counters = new ArrayList<>();
        final List<String> failed = new ArrayList<>(), doubts = new ArrayList<>();
    }

    /** The counters that make up the machine's energy; null where there are none. */
    static Powercap open(long intervalNs, boolean record, List<String> why) {
        String root = System.getenv("CG_SYSROOT");
        Found found = find(root == null ? "" : root);
        if (found.counters.isEmpty()) {
            if (found.failed.isEmpty()) found.failed.add("there are no powercap counters");
            why.addAll(found.failed);
            return null;
        }
        if (intervalNs == 0) intervalNs = record ? 1_000_000 : 10_000_000;
        Powercap p = new Powercap(found.domains, found.counters, intervalNs);
        p.without = String.join("; ", found.failed);
        p.doubts = String.join("; ", found.doubts);
        return p;
    }

    /** Opens them below a root, "" for this machine. */
    static Found find(String root) {
        Found found = new Found();
        List<Zone> wanted = zones(Path.of(root + "/sys/class/powercap"), found.failed), left = new ArrayList<>();
        List<Answer<Opened>> answers = Answer.all(wanted.stream().map(Zone::file).toList(), Powercap::counter);
        Map<Zone, Opened> read = new LinkedHashMap<>();
        Zone.Processor processor = Zone.Processor.of(cpuinfo(root));
        for (int i = 0; i < wanted.size(); i++) {
            Zone zone = wanted.get(i);
            try {
                Opened now = answers.get(i).get();
                if (left.contains(zone.parent) || shown(zone, now, read)) {
                    left.add(zone);
                    now.file.close();
                    continue;
                }
                read.put(zone, now);
                found.counters.add(new Counter(now.file, zone.wrap));
                found.domains.add(zone.domain());
                String doubt = zone.doubt(processor);
                if (!doubt.isEmpty()) found.doubts.add(doubt);
            } catch (IOException e) {
                found.failed.add("powercap: " + e.getMessage());
            }
        }
        return found;
    }

    private static String cpuinfo(String root) {
        try {
            return Files.readString(Path.of(Files.isDirectory(Path.of(root, "proc")) ? root : "/", "proc/cpuinfo"));
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Whether a die shows the counter of another of its package, of those that are read: some Threadripper do, and the
     * sum would count it twice.
     */
    private static boolean shown(Zone zone, Opened now, Map<Zone, Opened> read) {
        for (Map.Entry<Zone, Opened> other : read.entrySet()) {
            long before = other.getValue().micro;
            if (!zone.besides(other.getKey()) || before > now.micro) continue;
            try {
                long again = Answer.of(other.getKey().file(), path -> other.getValue().file.micro());
                if (now.micro <= again && again > 0 && again - before < Spec.MIRROR_UJ) return true;
            } catch (IOException e) {
                // It is another.
            }
        }
        return false;
    }

    /** Refuses what is no file: a pipe would never give a number. */
    private static Path regular(String path) throws IOException {
        Path file = Path.of(path);
        if (Files.readAttributes(file, BasicFileAttributes.class).isRegularFile()) return file;
        throw new IOException(path + ": not a regular file");
    }

    /** A counter's file, and what it showed. */
    private record Opened(Reading file, long micro) {}

    private static Opened counter(String path) throws IOException {
        RandomAccessFile file = new RandomAccessFile(regular(path).toFile(), "r");
        Reading reading = new Reading() {
            @Override
            public long micro() throws IOException {
                byte[] b = new byte[32];
                file.seek(0);
                return number(new String(b, 0, Math.max(0, file.read(b)), StandardCharsets.US_ASCII), path);
            }

            @Override
            public void close() throws IOException {
                file.close();
            }
        };
        try {
            return new Opened(reading, reading.micro());
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    private static long number(String text, String path) throws IOException {
        try {
            return Long.parseLong(text.strip());
        } catch (NumberFormatException e) {
            throw new IOException(path + ": no number: " + text.strip());
        }
    }

    /** What a zone is; null for one of power limits only. */
    private static Zone zone(String path) throws IOException {
        Path folder = Path.of(path), most = folder.resolve("max_energy_range_uj");
        if (!Files.exists(folder.resolve("energy_uj"))) return null;
        String name = Files.readString(regular(path + "/name")).strip();
        if (name.isEmpty()) throw new IOException(path + "/name: no name");
        long wrap = 0;
        if (Files.exists(most)) {
            String text = Files.readString(regular(most.toString())).strip();
            if (text.matches("[0-9]{1,18}") && Long.parseLong(text) > 0) wrap = Long.parseLong(text) + 1;
        }
        return new Zone(folder, name, wrap);
    }

    private static List<Zone> zones(Path folder, List<String> failed) {
        List<String> folders;
        try {
            folders = Answer.of(folder.toString(), path -> {
                try (Stream<Path> all = Files.list(Path.of(path))) {
                    return all.filter(f -> Zone.FOLDER.matcher(f.getFileName().toString()).matches())
                        .map(Path::toString).sorted().toList();
                }
            });
        } catch (IOException e) {
            return List.of();
        }
        List<Zone> zones = new ArrayList<>();
        for (Answer<Zone> answer : Answer.all(folders, Powercap::zone)) {
            try {
                Zone zone = answer.get();
                if (zone != null) zones.add(zone);
            } catch (NoSuchFileException e) {
                failed.add("powercap: " + e.getMessage() + ": no such file");
            } catch (IOException e) {
                failed.add("powercap: " + e.getMessage());
            }
        }
        return Zone.arranged(zones);
    }

    private Kept sample() {
        long began = System.nanoTime(), flags = 0;
        for (Counter c : counters) {
            long value;
            try {
                value = c.file.micro();
            } catch (IOException e) {
                flags |= Spec.FLAG_FAILED;
                continue;
            }
            long old = c.raw, before = c.readAt, now = System.nanoTime();
            c.raw = value;
            c.readAt = now;
            if (before == 0) continue;
            long more = Zone.more(old, value, c.wrap, now - before + 2 * Spec.RAPL_PERIOD_NS);
            if (more < 0) flags |= Spec.FLAG_GAP; // what it had is not known
            else c.total += more;
        }
        at = began + (System.nanoTime() - began) / 2;
        return new Kept(at, flags, counters.stream().mapToLong(c -> c.total).toArray());
    }

    private void loop() {
        lock.lock();
        try {
            for (long due = System.nanoTime(); !over; ) {
                due = Math.max(due + intervalNs, System.nanoTime());
                for (long left = due - System.nanoTime(); !over && asked == given && left > 0; ) {
                    changed.awaitNanos(left);
                    left = due - System.nanoTime();
                }
                if (over) break;
                long number = asked;
                lock.unlock();
                Kept k;
                try {
                    k = sample();
                } finally {
                    lock.lock();
                }
                kept.add(k);
                given = number;
                changed.signalAll();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
        for (Counter c : counters) {
            try {
                c.file.close();
            } catch (IOException e) {
                // Nothing was written to it.
            }
        }
    }

    /** Takes a sample. One that is late is not waited for again. */
    @Override
    void edge() {
        boolean interrupted = false;
        lock.lock();
        try {
            if (over) return;
            long number = ++asked, left = Answer.within;
            changed.signalAll();
            while (given < number && late <= given && left > 0) {
                long until = System.nanoTime() + left;
                try {
                    left = changed.awaitNanos(left);
                } catch (InterruptedException e) {
                    interrupted = true;
                    left = until - System.nanoTime();
                }
            }
            if (given < number && late <= given) late = number;
        } finally {
            lock.unlock();
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    /** Whether a counter has not answered in time. */
    @Override
    boolean ended() {
        lock.lock();
        try {
            return late > given;
        } finally {
            lock.unlock();
        }
    }

    @Override
    void read(Samples to) {
        lock.lock();
        List<Kept> all = kept;
        kept = new ArrayList<>();
        lock.unlock();
        for (Kept k : all) to.add(k.at, k.flags, k.micro);
    }

    @Override
    void close() {
        lock.lock();
        over = true;
        changed.signalAll();
        lock.unlock();
    }
}
