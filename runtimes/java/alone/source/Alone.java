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

    static {
        for (int i = 0; i < NAMES.length; i++)
            if (NAMES[i].indexOf('\t') >= 0) // a place, such as a line
                RECORD.accept(FIRST + i + "\t" + NAMES[i], 0);
    }

    private Alone() {}

    static void e(int site) {
        RECORD.accept(NAMES[site - FIRST], site);
    }

    static void x(int site) {
        RECORD.accept(NAMES[site - FIRST], -site);
    }

    static void p(int site) {
        RECORD.accept("", site);
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
        private final java.util.Map<Integer, Place> places = new java.util.LinkedHashMap<>();
        private final java.util.Map<Long, Calls> open = new java.util.HashMap<>();
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

        /** What a thread has open: of each call its site and the number of its place, 0 for none. */
        private static final class Calls {
            final java.util.ArrayDeque<int[]> stack = new java.util.ArrayDeque<>();
            long since; // the innermost call is in its place
        }

        /** A place in the code of a function, such as a line. */
        private static final class Place {
            final String function, told; // what the block says of it, but for its sums
            long count, time; // how often a call came there, and ns

            Place(String function, String told) {
                this.function = function;
                this.told = told;
            }
        }

        /** Gives the place of the innermost call its time until a moment. */
        private void spend(Calls c, long now) {
            int[] top = c.stack.peek();
            if (top != null && top[1] != 0)
                places.get(top[1]).time += now - c.since;
            c.since = now;
        }

        /**
         * An event of a site: its number for an enter, less than 0 for an exit. Without a name the call goes to the
         * place of that number; 0 tells a place: its number, its function and what the block says of it, with tabs
         * between them.
         */
        public synchronized void accept(String name, int site) {
            if (finished)
                return;
            if (site == 0) {
                String[] place = name.split("\t", 3);
                places.put(Integer.valueOf(place[0]), new Place(place[1], place[2]));
                return;
            }
            long thread = Thread.currentThread().getId(), now = System.nanoTime();
            Calls c = open.get(thread);
            if (c != null)
                spend(c, now);
            if (name.isEmpty()) {
                if (c != null && c.stack.peek() != null) {
                    c.stack.peek()[1] = site;
                    places.get(site).count++;
                }
                return;
            }
            if (site > 0) {
                names.put(site, name);
                calls.merge(site, 1, Integer::sum);
                if (c == null) {
                    open.put(thread, c = new Calls());
                    c.since = now;
                }
                c.stack.push(new int[] {site, 0});
            } else if (c != null) {
                c.stack.poll();
                if (c.stack.isEmpty())
                    open.remove(thread);
            }
            note(now, site, thread);
        }

        private void note(long now, int site, long thread) {
            if (events.size() >= LIMIT) {
                dropped++;
                return;
            }
            Double joules = counters.joules(now);
            events.add(new Object[] {now, site, calls.get(Math.abs(site)), thread, joules, counters.watts});
        }

        public synchronized void run() {
            if (finished)
                return;
            finished = true;
            for (java.util.Map.Entry<Long, Calls> e : open.entrySet()) {
                spend(e.getValue(), System.nanoTime());
                for (int[] call : e.getValue().stack)
                    note(System.nanoTime(), -call[0], e.getKey());
            }
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
            comma = ", \"places\": [";
            for (Place p : places.values()) {
                quote(b.append(comma).append("{\"function\": \""), p.function).append("\", ").append(p.told)
                    .append(", \"count\": ").append(p.count).append(", \"time_ns\": ").append(p.time).append('}');
                comma = ", ";
            }
            if (!places.isEmpty())
                b.append(']');
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
