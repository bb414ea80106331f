package codegreen;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * Counters below /sys/class/powercap, read by the program itself where cg is not there and they may be
 * read (kernel documentation: power/powercap/powercap.rst). A thread reads them.
 */
final class Powercap extends Source {
    /** Watts that no domain draws: a counter that fell back and would mean more was reset. */
    private static final double MOST = 5000;

    private static final class Counter {
        FileChannel file;
        long wrap, raw = -1, total;
    }

    private record Kept(long at, long flags, long[] micro) {}

    private final ReentrantLock lock = new ReentrantLock();
    private final List<Counter> counters = new ArrayList<>();
    private List<Kept> kept = new ArrayList<>();
    private long at;
    private volatile boolean over;
    private Thread thread;

    private Powercap() {
        via = "powercap";
        domains = new ArrayList<>();
    }

    /** The top-level zones of packages, memory and platform, and the memory below packages; null where there are none. */
    static Powercap open(long intervalNs, boolean record, List<String> why) {
        String root = System.getenv("CG_SYSROOT");
        Powercap p = new Powercap();
        int said = why.size();
        for (Domain d : zones(Path.of((root == null ? "" : root) + "/sys/class/powercap"))) {
            if (p.domains.stream().anyMatch(o -> o.id().equals(d.id()))) continue;
            Counter c = new Counter();
            Path file = Path.of(d.source());
            try {
                c.wrap = Long.parseLong(Files.readString(file.resolveSibling("max_energy_range_uj")).strip()) + 1;
                c.file = FileChannel.open(file, StandardOpenOption.READ);
                value(c);
            } catch (IOException | NumberFormatException e) {
                why.add("powercap: " + e);
                shut(c);
                continue;
            }
            p.domains.add(d);
            p.counters.add(c);
        }
        if (p.counters.isEmpty()) {
            if (why.size() == said) why.add("there are no powercap counters");
            return null;
        }
        p.intervalNs = intervalNs != 0 ? intervalNs : record ? 1_000_000 : 10_000_000;
        p.support = p.domains.size() > 1 ? "full" : "scalar_only";
        p.edge();
        p.thread = new Thread(p::loop, "codegreen-powercap");
        p.thread.setDaemon(true);
        p.thread.start();
        return p;
    }

    private static List<Domain> zones(Path folder) {
        Map<String, String> names = new TreeMap<>(); // by folder
        try (Stream<Path> all = Files.list(folder)) {
            for (Path zone : (Iterable<Path>) all::iterator) {
                String name = zone.getFileName().toString();
                if (name.startsWith("intel-rapl:") && Files.isReadable(zone.resolve("name"))) names.put(name, Files.readString(zone.resolve("name")).strip());
            }
        } catch (IOException e) {
            return List.of();
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
        return new Domain(id, kind, "", true, "measured", file, 1_000_000, 1, 1);
    }

    private static long value(Counter c) throws IOException {
        ByteBuffer b = ByteBuffer.allocate(32);
        c.file.read(b, 0);
        return Long.parseLong(new String(b.array(), 0, b.position(), StandardCharsets.US_ASCII).strip());
    }

    private static void shut(Counter c) {
        try {
            if (c.file != null) c.file.close();
        } catch (IOException e) {
            // Nothing was written to it.
        }
    }

    /** Takes a sample. */
    @Override
    void edge() {
        lock.lock();
        try {
            if (over) return;
            long began = System.nanoTime(), flags = 0;
            for (Counter c : counters) {
                long value;
                try {
                    value = value(c);
                } catch (IOException | NumberFormatException e) {
                    flags |= Samples.FAILED;
                    continue;
                }
                long old = c.raw;
                c.raw = value;
                if (old < 0) continue;
                long more = value >= old ? value - old : value - old + c.wrap;
                if (more < 0 || more > MOST * 1e-3 * Math.max(1, began - at)) flags |= Samples.GAP; // it was reset: what it had is not known
                else c.total += more;
            }
            at = began + (System.nanoTime() - began) / 2;
            kept.add(new Kept(at, flags, counters.stream().mapToLong(c -> c.total).toArray()));
        } finally {
            lock.unlock();
        }
    }

    private void loop() {
        for (long due = System.nanoTime(); !over; ) {
            due = Math.max(due + intervalNs, System.nanoTime());
            for (long left; !over && (left = due - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
            edge();
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
        counters.forEach(Powercap::shut);
        lock.unlock();
        LockSupport.unpark(thread);
    }
}
