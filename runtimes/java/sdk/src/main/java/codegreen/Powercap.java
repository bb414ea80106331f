package codegreen;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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
        private long raw = -1, total;

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

    /** The top-level zones of packages, memory and platform, and the memory below packages; null where there are none. */
    static Powercap open(long intervalNs, boolean record, List<String> why) {
        String root = System.getenv("CG_SYSROOT");
        List<String> missing = new ArrayList<>();
        Map<String, Domain> wanted = new LinkedHashMap<>();
        for (Domain d : zones(Path.of((root == null ? "" : root) + "/sys/class/powercap"), missing)) {
            if (wanted.values().stream().noneMatch(o -> o.id().equals(d.id()))) wanted.put(d.source(), d);
        }
        List<Domain> domains = new ArrayList<>();
        List<Counter> counters = new ArrayList<>();
        List<Domain> in = new ArrayList<>(wanted.values());
        List<Answer<Counter>> answers = Answer.all(new ArrayList<>(wanted.keySet()), Powercap::counter);
        for (int i = 0; i < in.size(); i++) {
            try {
                counters.add(answers.get(i).get());
                domains.add(in.get(i));
            } catch (IOException e) {
                missing.add("powercap: " + e.getMessage());
            }
        }
        if (counters.isEmpty()) {
            if (missing.isEmpty()) missing.add("there are no powercap counters");
            why.addAll(missing);
            return null;
        }
        Powercap p = new Powercap(domains, counters, intervalNs != 0 ? intervalNs : record ? 1_000_000 : 10_000_000);
        p.without = String.join("; ", missing);
        return p;
    }

    /** Refuses what is no file: a pipe would never give a number. */
    private static Path regular(String path) throws IOException {
        Path file = Path.of(path);
        if (!Files.readAttributes(file, BasicFileAttributes.class).isRegularFile()) throw new IOException(path + ": not a regular file");
        return file;
    }

    private static Counter counter(String path) throws IOException {
        String most = path.substring(0, path.lastIndexOf('/')) + "/max_energy_range_uj";
        long wrap = number(Files.readString(regular(most)), most) + 1;
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
            reading.micro();
        } catch (IOException e) {
            file.close();
            throw e;
        }
        return new Counter(reading, wrap);
    }

    private static long number(String text, String path) throws IOException {
        try {
            return Long.parseLong(text.strip());
        } catch (NumberFormatException e) {
            throw new IOException(path + ": no number: " + text.strip());
        }
    }

    private static List<Domain> zones(Path folder, List<String> missing) {
        List<String> files;
        try {
            files = Answer.of(folder.toString(), path -> {
                try (Stream<Path> all = Files.list(Path.of(path))) {
                    return all.filter(zone -> zone.getFileName().toString().startsWith("intel-rapl:")).map(zone -> zone.resolve("name").toString()).sorted().toList();
                }
            });
        } catch (IOException e) {
            return List.of();
        }
        Map<String, String> names = new TreeMap<>(); // by folder
        List<Answer<String>> answers = Answer.all(files, path -> Files.readString(regular(path)).strip());
        for (int i = 0; i < files.size(); i++) {
            try {
                names.put(Path.of(files.get(i)).getParent().getFileName().toString(), answers.get(i).get());
            } catch (IOException e) {
                missing.add("powercap: " + e.getMessage());
            }
        }
        List<Domain> packages = new ArrayList<>(), memory = new ArrayList<>(), platform = new ArrayList<>();
        names.forEach((zone, name) -> {
            String file = folder.resolve(zone).resolve("energy_uj").toString();
            if (name.startsWith("package")) {
                packages.add(measured(name, "cpu_package", file));
            } else if (name.startsWith("dram")) {
                String above = names.getOrDefault(zone.substring(0, zone.lastIndexOf(':')), "");
                String number = above.startsWith("package-") ? above.substring(8) : name.startsWith("dram-") ? name.substring(5) : "0";
                memory.add(measured("dram-" + number, "dram", file));
            } else if (name.startsWith("psys")) {
                platform.add(measured(name, "psys", file));
            }
        });
        if (packages.isEmpty()) return platform.subList(0, Math.min(1, platform.size()));
        packages.addAll(memory);
        return packages;
    }

    private static Domain measured(String id, String kind, String file) {
        return new Domain(id, kind, "", true, "measured", file, Spec.RAPL_PERIOD_NS, 1, 1, 62);
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
            long old = c.raw;
            c.raw = value;
            if (old < 0) continue;
            long more = value >= old ? value - old : value - old + c.wrap;
            if (more < 0 || more > Spec.IMPLAUSIBLE_W * 1e-3 * Math.max(1, began - at)) flags |= Spec.FLAG_GAP; // it was reset: what it had is not known
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
                for (long left; !over && asked == given && (left = due - System.nanoTime()) > 0; ) changed.awaitNanos(left);
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
