/**
 * The checkpoints of a source file that runs without cg ("cg analyze
 * --save-instrumented"). When the program ends it prints one block on standard output:
 *
 *   --- CODEGREEN_RESULT_START ---
 *   {"measurements": [{"checkpoint_id": ..., "timestamp": ..., "joules": ..., "watts": ...}]}
 *   --- CODEGREEN_RESULT_END ---
 *
 * timestamp is CLOCK_MONOTONIC in nanoseconds; joules is the energy that the processor
 * packages used since the start of the program, watts their power between the last two
 * readings, both null where /sys/class/powercap cannot be read (kernel documentation:
 * power/powercap/powercap.rst). Where several files of a program have this class, all
 * record with the first.
 */
@SuppressWarnings({"unchecked", "deprecation"})
final class Alone {
    private static final int FIRST = 1;
    private static final String[] NAMES = String.join("\n", "").split("\n");
    private static final java.util.function.ObjIntConsumer<String> RECORD = record();

    private Alone() {}

    static void e(int site) {
        RECORD.accept(NAMES[site - FIRST], site);
    }

    static void x(int site) {
        RECORD.accept(NAMES[site - FIRST], -site);
    }

    /** The record of this process: that of another file, if there is one. */
    private static java.util.function.ObjIntConsumer<String> record() {
        synchronized (System.class) {
            final String key = "codegreen.record", first = System.getProperty(key);
            if (first != null)
                try {
                    java.lang.reflect.Field f = Class.forName(first, true, Alone.class.getClassLoader())
                        .getDeclaredField("RECORD");
                    f.setAccessible(true);
                    if (f.get(null) != null)
                        return (java.util.function.ObjIntConsumer<String>) f.get(null);
                } catch (ReflectiveOperationException | RuntimeException e) {
                    // it belongs to another class loader: there are two blocks
                }
            if (first == null)
                System.setProperty(key, Alone.class.getName());
            return new Record();
        }
    }

    /** The events of the program; its run is at the program's end. */
    private static final class Record extends Thread implements java.util.function.ObjIntConsumer<String> {
        private static final int LIMIT = 1_000_000; // events that are kept; later ones are counted as dropped

        private final java.util.List<Object[]> events = new java.util.ArrayList<>();
        private final java.util.Map<Integer, String> names = new java.util.HashMap<>();
        private final java.util.Map<Integer, Integer> calls = new java.util.HashMap<>();
        private final java.util.Map<Long, java.util.ArrayDeque<Integer>> open = new java.util.HashMap<>();
        private final Counters counters = new Counters();
        private boolean finished;
        private long dropped;

        Record() {
            String reporter = System.getenv("CODEGREEN_REPORTER"); // the process that prints, 0 or its number
            finished = reporter != null && !reporter.equals(Long.toString(ProcessHandle.current().pid()));
            try {
                Runtime.getRuntime().addShutdownHook(this);
            } catch (IllegalStateException e) {
                finished = true; // the program is ending
            }
        }

        /** An event of a site: its number for an enter, less than 0 for an exit. */
        public synchronized void accept(String name, int site) {
            if (finished)
                return;
            long thread = Thread.currentThread().getId();
            java.util.ArrayDeque<Integer> stack = open.get(thread);
            if (site > 0) {
                names.put(site, name);
                calls.merge(site, 1, Integer::sum);
                if (stack == null)
                    open.put(thread, stack = new java.util.ArrayDeque<>());
                stack.push(site);
            } else if (stack != null) {
                stack.poll();
                if (stack.isEmpty())
                    open.remove(thread);
            }
            note(site, thread);
        }

        private void note(int site, long thread) {
            if (events.size() >= LIMIT) {
                dropped++;
                return;
            }
            long now = System.nanoTime();
            Double joules = counters.joules(now);
            events.add(new Object[] {now, site, calls.get(Math.abs(site)), thread, joules, counters.watts});
        }

        public synchronized void run() {
            if (finished)
                return;
            finished = true;
            for (java.util.Map.Entry<Long, java.util.ArrayDeque<Integer>> e : open.entrySet())
                for (int site : e.getValue())
                    note(-site, e.getKey());
            if (events.isEmpty())
                return;
            System.out.flush();
            try (java.io.OutputStream out = new java.io.FileOutputStream(java.io.FileDescriptor.out)) {
                out.write(block().getBytes(java.nio.charset.StandardCharsets.US_ASCII));
            } catch (java.io.IOException e) {
                // nobody reads it
            }
        }

        private String block() {
            StringBuilder b = new StringBuilder("--- CODEGREEN_RESULT_START ---\n{\"measurements\": [");
            String comma = "";
            for (Object[] e : events) {
                int site = (Integer) e[1];
                b.append(comma).append("{\"checkpoint_id\": \"").append(site > 0 ? "enter:" : "exit:");
                quote(b, names.get(Math.abs(site))).append(':').append(Math.abs(site)).append("#inv_").append(e[2])
                    .append("_t").append(Long.toHexString((Long) e[3])).append("\", \"timestamp\": ").append(e[0])
                    .append(", \"joules\": ").append(e[4]).append(", \"watts\": ").append(e[5]).append('}');
                comma = ", ";
            }
            b.append(']');
            if (dropped > 0)
                b.append(", \"dropped\": ").append(dropped);
            return b.append("}\n--- CODEGREEN_RESULT_END ---\n").toString();
        }

        /** A text as JSON has it, in ASCII. */
        private static StringBuilder quote(StringBuilder b, String s) {
            for (char c : s.toCharArray())
                if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
                    b.append(c);
                else
                    b.append("\\u").append(Integer.toHexString(0x10000 + c).substring(1));
            return b;
        }
    }

    /** The energy counters of the processor packages and their memory. */
    private static final class Counters {
        private static final long PERIOD = 1_000_000; // ns between two readings
        private static final double MOST = 5000; // watts that no package draws: a counter that wraps says less

        private final java.util.List<java.nio.file.Path> zones = new java.util.ArrayList<>();
        private final java.util.List<long[]> values = new java.util.ArrayList<>(); // the last and the range, in uJ
        private long at = System.nanoTime();
        private double total;
        Double watts; // null where there is no counter

        Counters() {
            try (java.nio.file.DirectoryStream<java.nio.file.Path> all = java.nio.file.Files
                    .newDirectoryStream(java.nio.file.Path.of("/sys/class/powercap"), "intel-rapl:*")) {
                for (java.nio.file.Path zone : all)
                    add(zone);
            } catch (java.io.IOException | RuntimeException e) {
                // there are none
            }
        }

        private void add(java.nio.file.Path zone) {
            try {
                String name = java.nio.file.Files.readString(zone.resolve("name"));
                if (!name.startsWith("package") && !name.startsWith("dram"))
                    return;
                values.add(new long[] {number(zone.resolve("energy_uj")), number(zone.resolve("max_energy_range_uj"))});
                zones.add(zone.resolve("energy_uj"));
                watts = 0.0;
            } catch (java.io.IOException | RuntimeException e) {
                // it is left out
            }
        }

        private static long number(java.nio.file.Path file) throws java.io.IOException {
            return Long.parseLong(java.nio.file.Files.readString(file).trim());
        }

        /** Joules as of the last reading, at most a period old; null where there is no counter. */
        Double joules(long now) {
            long past = now - at;
            if (zones.isEmpty())
                return null;
            if (past < PERIOD)
                return total;
            double used = 0;
            for (int i = 0; i < zones.size(); i++)
                try {
                    long[] v = values.get(i);
                    long value = number(zones.get(i)), more = value - v[0];
                    if (more < 0)
                        more += v[1] + 1;
                    if (value >= v[0] || more * 1e3 <= MOST * past) // else it was reset: what it had is not known
                        used += more;
                    v[0] = value;
                } catch (java.io.IOException | RuntimeException e) {
                    // the next reading has it
                }
            watts = used * 1e3 / past;
            total += used * 1e-6;
            at = now;
            return total;
        }
    }
}
