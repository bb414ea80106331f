package codegreen;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** Holds the package to the figures of cg's own (runtimes/sdk/spec/cases), and to its laws. */
final class Held {
    private static int faults;

    static void check(boolean is, String what) {
        if (is) return;
        System.out.println(what);
        faults++;
    }

    private static boolean near(double a, double b) {
        return Math.abs(a - b) <= 1e-9 * Math.max(1e-3, Math.max(Math.abs(a), Math.abs(b)));
    }

    private static Samples series(long periodNs) {
        return new Samples(List.of(new Domain("d", "", "", true, "measured", "", periodNs, 1, 1)));
    }

    /** Each line is of the series, a sample of it, or what was asked of it. */
    private static int between(Path figures) throws IOException {
        Samples s = null;
        int asked = 0;
        for (String line : Files.readAllLines(figures)) {
            String[] w = line.split(" ");
            if (w[0].equals("series")) {
                s = series(Long.parseLong(w[1]));
            } else if (w[0].equals("s")) {
                s.add(Long.parseLong(w[1]), Long.parseLong(w[2]), new long[] {Long.parseLong(w[3])});
            } else {
                asked++;
                Samples.Span got = s.between(0, Long.parseLong(w[1]), Long.parseLong(w[2]));
                if (w[3].equals("none")) check(got == null || got.method().equals(Spec.METHOD_SAMPLED), line + ": " + got);
                else check(got != null && got.method().equals(w[5]) && near(got.joules(), Double.parseDouble(w[3])) && near(got.slack(), Double.parseDouble(w[4])), line + ": " + got);
            }
        }
        return asked;
    }

    private interface Rule<T> {
        void hold(T of) throws Exception;
    }

    @SuppressWarnings("unchecked")
    private static <T> void table(Path cases, String name, Rule<T> rule) throws Exception {
        List<?> all = (List<?>) Json.parse(Files.readString(cases.resolve(name)));
        for (Object of : all) rule.hold((T) of);
        System.out.println(name + ": " + all.size() + " cases");
    }

    private static long whole(Object number) {
        return ((Number) number).longValue();
    }

    private static boolean same(Object got, Object want) {
        return got instanceof Number a && want instanceof Number b ? near(a.doubleValue(), b.doubleValue()) : Objects.equals(got, want);
    }

    private static void noise(Map<?, ?> of) {
        List<?> samples = (List<?>) of.get("samples");
        int n = samples.size();
        long[] times = new long[n], flags = new long[n];
        double[] micro = new double[n];
        for (int i = 0; i < n; i++) {
            List<?> s = (List<?>) samples.get(i);
            times[i] = whole(s.get(0));
            flags[i] = whole(s.get(1));
            micro[i] = whole(s.get(2));
        }
        Map<String, String> env = new HashMap<>();
        ((Map<?, ?>) of.get("env")).forEach((k, v) -> env.put((String) k, (String) v));
        Noise.Limits limits = Noise.Limits.of(env);
        double[] fast = ((List<?>) of.get("fast_uj")).stream().mapToDouble(v -> whole(v)).toArray();
        Map<String, Object> got = Noise.of(new Noise.Stretch(times, flags, micro, whole(of.get("lasted_ns")), whole(of.get("interval_ns")), whole(of.get("period_ns")),
            fast.length == 0 ? null : fast, whole(of.get("fast_period_ns"))), limits);
        got.put("reasons", Noise.reasons(got, limits));
        ((Map<?, ?>) of.get("want")).forEach((key, want) -> check(same(got.get(key), want), of.get("name") + ": " + key + " " + got.get(key) + ", want " + want));
    }

    private static void ring(Map<?, ?> of) throws IOException {
        int size = (int) whole(of.get("size"));
        ByteBuffer b = ByteBuffer.allocate(Math.max(size, 48)).order(ByteOrder.nativeOrder());
        ((Map<?, ?>) of.get("texts")).forEach((at, text) -> b.put(Integer.parseInt((String) at), ((String) text).getBytes(StandardCharsets.US_ASCII)));
        ((Map<?, ?>) of.get("halves")).forEach((at, v) -> b.putInt(Integer.parseInt((String) at), (int) whole(v)));
        ((Map<?, ?>) of.get("words")).forEach((at, v) -> b.putLong(Integer.parseInt((String) at), whole(v)));
        long self = ProcessHandle.current().pid(), zombie = Long.parseLong(System.getenv("ZOMBIE"));
        b.putLong(40, of.get("writer").equals("self") ? self : of.get("writer").equals("zombie") ? zombie : (1 << 22) + 1);
        Path path = Files.createTempFile("ring", "");
        Map<?, ?> want = (Map<?, ?>) of.get("want");
        Ring got;
        try {
            Files.write(path, Arrays.copyOf(b.array(), size));
            got = new Ring(path.toString());
        } catch (IOException | RuntimeException e) { // as Source takes it
            check(want == null, of.get("name") + " is refused: " + e);
            return;
        } finally {
            Files.delete(path);
        }
        if (want == null) {
            check(false, of.get("name") + " is not refused");
            return;
        }
        Samples samples = new Samples(got.domains);
        got.read(samples);
        List<Object> rows = new ArrayList<>();
        for (int i = 0; i < samples.times.size; i++) {
            List<Object> row = new ArrayList<>(List.of((double) samples.times.get(i), (double) samples.flags.get(i)));
            for (Samples.Longs micro : samples.energies) row.add((double) micro.get(i));
            rows.add(row);
        }
        Map<String, Object> said = Map.of("domains", got.domains.stream().map(Domain::id).toList(), "in_total", got.domains.stream().map(Domain::inTotal).toList(),
            "steps_uj", got.domains.stream().map(d -> (double) d.stepUj()).toList(), "interval_ns", (double) got.intervalNs, "samples", rows,
            "lost", (double) got.lost, "ended", got.ended());
        check(said.equals(want), of.get("name") + ": " + said + ", want " + want);
    }

    /** The numbers of the processes that a case names, and their starts (proc_pid_stat(5), field 22). */
    private static Map<String, String> processes() throws IOException {
        ProcessHandle self = ProcessHandle.current();
        Map<String, String> found = new HashMap<>(Map.of("self", Long.toString(self.pid()),
            "other", System.getenv("OTHER"), "parent", Long.toString(self.parent().orElseThrow().pid()),
            "zombie", System.getenv("ZOMBIE"), "gone", Integer.toString((1 << 22) + 1)));
        for (String name : List.of("self", "other", "parent", "zombie")) {
            String stat = Files.readString(Path.of("/proc", found.get(name), "stat"), StandardCharsets.ISO_8859_1);
            found.put(name + ".start", stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19]);
        }
        return found;
    }

    private static void neighbours(Map<?, ?> of) throws IOException {
        Map<String, String> there = processes();
        String[] texts = {(String) of.get("file"), (String) of.get("left")};
        for (int i = 0; i < texts.length; i++) {
            for (String name : there.keySet()) {
                if (texts[i] != null) texts[i] = texts[i].replace("{" + name + "}", there.get(name));
            }
        }
        Path folder = Files.createTempDirectory("neighbours");
        try {
            String uid = Files.getAttribute(folder, "unix:uid").toString();
            Path path = folder.resolve(Spec.NEIGHBOURS_FILE.replace("%d", uid)), file = path;
            if (of.get("link") != null) {
                file = folder.resolve("file");
                Files.createSymbolicLink(path, file);
            }
            if (texts[0] != null) {
                Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
                Files.writeString(file, texts[0]);
            } else if (of.get("folder") != null) {
                Files.createDirectory(path);
            }
            List<String> others = Neighbours.change(folder.toString(), (Boolean) of.get("mine"));
            List<String> want = ((List<?>) of.get("others")).stream().map(there::get).toList();
            check(others.equals(want), of.get("name") + ": others " + others + ", want " + want);
            String left = null;
            if (Files.isRegularFile(path)) {
                left = Files.readString(path);
                check(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)).equals("rw-------"), of.get("name") + ": the mode");
            }
            check(Objects.equals(left, texts[1]), of.get("name") + ": left " + left + ", want " + texts[1]);
        } finally {
            try (Stream<Path> all = Files.walk(folder)) {
                for (Path p : all.sorted(Comparator.reverseOrder()).toList()) Files.delete(p);
            }
        }
    }

    private static void requests(Map<?, ?> of) {
        String line = Listener.line(whole(of.get("id")), (String) of.get("route"), whole(of.get("at_us")), (int) whole(of.get("tid")), whole(of.get("cpu_ns")));
        check(line.indexOf('\n') == line.length() - 1, of.get("name") + ": " + line);
        Map<?, ?> got = (Map<?, ?>) Json.parse(line.strip()), want = (Map<?, ?>) of.get("want");
        boolean all = List.copyOf(got.keySet()).equals(List.copyOf(want.keySet()));
        for (Object key : want.keySet()) all &= same(got.get(key), want.get(key));
        check(all, of.get("name") + ": " + line + "want " + want);
    }

    private static void powercap(Map<?, ?> of) throws IOException {
        Path root = Files.createTempDirectory("powercap");
        String[] cpu = ((String) of.get("cpu")).split(" ");
        Map<String, String> files = new HashMap<>();
        ((Map<?, ?>) of.get("files")).forEach((name, text) -> files.put("sys/class/powercap/" + name, text + "\n"));
        files.put("proc/cpuinfo", String.format("vendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\n", (Object[]) cpu));
        Powercap.Found found;
        try {
            for (Map.Entry<String, String> file : files.entrySet()) {
                Path path = root.resolve(file.getKey());
                Files.createDirectories(path.getParent());
                Files.writeString(path, file.getValue());
            }
            found = Powercap.find(root.toString());
        } finally {
            try (Stream<Path> all = Files.walk(root)) {
                for (Path path : all.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
            }
        }
        List<Object> got = new ArrayList<>();
        for (Domain d : found.domains) {
            String zone = Path.of(d.source()).getParent().getFileName().toString();
            got.add(Map.of("id", d.id(), "kind", d.kind(), "step_uj", (double) d.stepUj(), "zone", zone));
        }
        check(got.equals(of.get("domains")), of.get("name") + ": " + got + ", want " + of.get("domains"));
        named(of, "doubted", found.doubts);
        named(of, "failed", found.failed);
    }

    private static void named(Map<?, ?> of, String key, List<String> said) {
        List<?> want = (List<?>) of.get(key);
        boolean met = said.size() == want.size();
        for (int i = 0; met && i < want.size(); i++) met = said.get(i).contains((String) want.get(i));
        check(met, of.get("name") + ": " + key + " " + said + ", want " + want);
    }

    private static void unwrap(List<?> of) {
        long got = Zone.more(whole(of.get(1)), whole(of.get(2)), whole(of.get(3)), whole(of.get(4)));
        check(of.get(5) == null ? got < 0 : got == whole(of.get(5)), of.get(0) + ": " + got + ", want " + of.get(5));
    }

    private static void lags(Map<?, ?> of) {
        Samples s = new Samples(List.of(new Domain("d", "gpu", "", true, "measured", "", whole(of.get("period_ns")), 1, 1, 0, Domain.Idling.NONE, Habits.of(of.get("habits")))));
        for (Object o : (List<?>) of.get("samples")) s.add(whole(((List<?>) o).get(0)), 0, new long[] {whole(((List<?>) o).get(1))});
        for (Object o : (List<?>) of.get("spans")) {
            double got = s.lag(0, whole(((List<?>) o).get(0)), whole(((List<?>) o).get(1)));
            check(near(got, ((Number) ((List<?>) o).get(2)).doubleValue()), of.get("name") + ": " + o + ", got " + got);
            got = s.hidden(0, List.of(new Shares.Part(whole(((List<?>) o).get(0)), whole(((List<?>) o).get(1)), 1)));
            check(near(got, ((Number) ((List<?>) o).get(3)).doubleValue()), of.get("name") + ": " + o + ", hides " + got);
        }
        for (Object o : of.get("parts") instanceof List<?> l ? l : List.of()) {
            List<Shares.Part> parts = new ArrayList<>();
            for (Object v : (List<?>) ((List<?>) o).get(0)) parts.add(new Shares.Part(whole(((List<?>) v).get(0)), whole(((List<?>) v).get(1)), 1));
            double got = s.hidden(0, parts);
            check(near(got, ((Number) ((List<?>) o).get(1)).doubleValue()), of.get("name") + ": " + o + ", of parts it hides " + got);
        }
    }

    private static void tasks(Map<?, ?> of) {
        List<Domain> domains = new ArrayList<>();
        for (Object o : (List<?>) of.get("domains")) {
            Map<?, ?> d = (Map<?, ?>) o;
            domains.add(new Domain((String) d.get("id"), Objects.requireNonNullElse((String) d.get("kind"), ""), "", (Boolean) d.get("in_total"), (String) d.get("method"), "", whole(d.get("period_ns")),
                (Double) d.get("lo"), (Double) d.get("hi"), whole(d.get("step_uj")), Domain.Idling.NONE, Habits.of(d.get("habits"))));
        }
        Samples s = new Samples(domains);
        s.gpus = gpus(of.get("gpus"));
        for (Object o : (List<?>) of.get("samples")) {
            List<?> row = (List<?>) o;
            s.add(whole(row.get(0)), whole(row.get(1)), row.subList(2, row.size()).stream().mapToLong(Held::whole).toArray());
        }
        if (of.get("awaited") instanceof Map<?, ?> awaited) {
            awaited.forEach((end, want) -> check(Objects.equals(want, s.awaitsGpu(Long.parseLong((String) end), Long.parseLong((String) end))), of.get("name") + ": awaited up to " + end + ", want " + want));
        }
        if (of.get("deadlines") instanceof Map<?, ?> deadlines) {
            deadlines.forEach((end, want) -> check(s.awaitsGpu(Long.parseLong((String) end), whole(want) - 1) && !s.awaitsGpu(Long.parseLong((String) end), whole(want)), of.get("name") + ": it is not waited for up to " + want));
        }
        for (Object o : (List<?>) of.get("tasks")) {
            List<?> task = (List<?>) o;
            List<Shares.Part> shared = new ArrayList<>();
            for (Object part : task.size() > 3 ? (List<?>) task.get(3) : List.of()) {
                List<?> p = (List<?>) part;
                shared.add(new Shares.Part(whole(p.get(0)), whole(p.get(1)), (Double) p.get(2)));
            }
            List<Gpu.Use> uses = new ArrayList<>();
            Energy e = Energy.of(s, whole(task.get(0)), whole(task.get(1)), shared, uses);
            Map<String, Double> parts = new HashMap<>();
            if (e != null) e.domains().forEach((id, micro) -> parts.put(id, (double) micro));
            Map<String, Object> got = new HashMap<>();
            if (e != null) got.putAll(Map.of("uj", (double) e.total(), "lo_uj", (double) e.lo(), "hi_uj", (double) e.hi(), "method", e.method(), "domains", parts));
            if (!uses.isEmpty()) got.put("gpus", uses.stream().map(Held::use).toList());
            Object all = got.isEmpty() ? null : got;
            check(Objects.equals(all, task.get(2)), of.get("name") + ": " + all + ", want " + task.get(2));
        }
    }

    private static Map<String, Object> use(Gpu.Use u) {
        Map<String, Object> out = new HashMap<>(Map.of("gpu_method", u.method(), "reason", u.reason(), "uj", (double) u.total(), "program_uj", (double) u.program(),
            "other_uj", (double) u.other(), "idle_uj", (double) u.idle(), "unattributed_uj", (double) u.rest(), "lo_uj", (double) u.lo(), "hi_uj", (double) u.hi()));
        out.put("known", u.known());
        return out;
    }

    /** What cg tells of GPUs, by domain. */
    private static Map<Integer, Gpu> gpus(Object of) {
        Map<Integer, Gpu> out = new HashMap<>();
        if (of == null) return out;
        ((Map<?, ?>) of).forEach((at, o) -> {
            Map<?, ?> told = (Map<?, ?>) o;
            List<Gpu.Reason> reasons = new ArrayList<>();
            for (Object r : (List<?>) told.get("reasons")) reasons.add(new Gpu.Reason((String) ((Map<?, ?>) r).get("name"), (String) ((Map<?, ?>) r).get("why")));
            Gpu gpu = new Gpu(reasons);
            gpu.state = whole(told.get("state"));
            gpu.asked = whole(told.get("asked"));
            for (Object p : (List<?>) told.get("pieces")) {
                double[] v = ((List<?>) p).stream().mapToDouble(x -> ((Number) x).doubleValue()).toArray();
                gpu.add((long) v[0], (long) v[1], Arrays.copyOfRange(v, 2, 10), (int) v[10]);
            }
            out.put(Integer.parseInt((String) at), gpu);
        });
        return out;
    }

    private static void shares(Map<?, ?> of) {
        List<Domain> domains = new ArrayList<>();
        for (Object o : (List<?>) of.get("domains")) {
            Map<?, ?> d = (Map<?, ?>) o;
            domains.add(new Domain((String) d.get("id"), (String) d.get("kind"), "", true, "measured", "", 0, 1, 1, 0, Domain.Idling.of(d), Habits.NONE));
        }
        Division division = Division.of(domains, of);
        for (Object o : (List<?>) of.get("samples")) {
            long[] row = ((List<?>) o).stream().mapToLong(Held::whole).toArray();
            division.add(row[0], row[1], Arrays.copyOfRange(row, 2, 5), Arrays.copyOfRange(row, 5, row.length));
        }
        List<Long> edges = new ArrayList<>();
        for (boolean pruned : new boolean[] {false, true}) {
            if (pruned) division.prune(edges.stream().mapToLong(Long::longValue).toArray());
            for (Object o : (List<?>) of.get("asked")) {
                Map<?, ?> one = (Map<?, ?>) o;
                long from = whole(one.get("from_ns")), to = whole(one.get("to_ns"));
                edges.addAll(List.of(from, to));
                String what = of.get("name") + ": from " + from + " to " + to + (pruned ? ", pruned" : "");
                check(division.known(from, to) == (one.get("want") != null), what + ": known");
                List<?> want = one.get("want") instanceof List<?> all ? all : List.of();
                for (int d = 0; d < want.size(); d++) {
                    double[] got = division.part(d, List.of(new Shares.Part(from, to, 1)));
                    for (int i = 0; i < got.length; i++) {
                        double part = (Double) ((List<?>) want.get(d)).get(i);
                        check(Math.abs(got[i] - part) <= 1e-5, what + ": " + Arrays.toString(got) + ", want " + want.get(d));
                    }
                }
            }
        }
    }

    private static void cells(List<?> of) {
        String got = Output.harmless((String) of.get(0));
        check(got.equals(of.get(1)), of + ": " + got);
    }

    /** What is pruned tells the same energies between the edges that were named. */
    private static void prune() {
        Samples s = series(1_000_000);
        for (long i = 0; i < 20000; i++) s.add(i * 1_000_000 + i * i % 1000, 0, new long[] {i * 20000 + i % 7 * 10});
        long[] edges = {50_000_000L, 3_000_000_000L, 9_000_300_000L, 9_001_000_000L, 19_000_000_000L};
        List<Samples.Span> before = new ArrayList<>(), after = new ArrayList<>();
        for (long a : edges) for (long b : edges) if (a < b) before.add(s.between(0, a, b));
        s.prune(edges, 5 * Spec.AROUND_NS);
        for (long a : edges) for (long b : edges) if (a < b) after.add(s.between(0, a, b));
        check(before.equals(after) && !before.contains(null), before + ", pruned " + after);
        check(s.times.size < 3000, s.times.size + " samples are left");
    }

    /** Tasks that overlap have together what there is, in whatever order they end. */
    private static void share() throws InterruptedException {
        Samples s = series(1_000_000);
        for (long i = 0; i < 1000; i++) s.add(i * 1_000_000, 0, new long[] {i * 20000}); // 20 W
        Shares shares = new Shares();
        Stack[] stacks = new Stack[3];
        for (int i = 0; i < stacks.length; i++) {
            int n = i;
            Thread t = new Thread(() -> stacks[n] = new Stack()); // none of them uses any processor time
            t.start();
            t.join();
        }
        long ms = 1_000_000;
        shares.enter(100 * ms, stacks[0]);
        shares.enter(200 * ms, stacks[1]);
        shares.enter(250 * ms, stacks[2]);
        check(shares.leave(300 * ms, stacks[1]) == 300 * ms, "it left at another time");
        check(shares.leave(299 * ms, stacks[0]) == 300 * ms, "it left before another that left before");
        shares.leave(600 * ms, stacks[2]);
        long[][] spans = {{100, 300}, {200, 300}, {250, 600}};
        double[] want = {2 + 0.5 + 1 / 3.0, 0.5 + 1 / 3.0, 1 / 3.0 + 6}; // J
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            Energy e = Energy.of(s, spans[i][0] * ms, spans[i][1] * ms, shares.within(spans[i][0] * ms, spans[i][1] * ms, stacks[i]), new ArrayList<>());
            check(Math.abs(e.total() / 1e6 - want[i]) < 1e-3 && e.method().equals("shared") && e.lo() <= e.total() && e.total() <= e.hi() && e.machine() > e.total(), i + ": " + e + ", want " + want[i]);
            sum += e.total();
        }
        check(sum <= 10_000_000, sum + " uJ of 10 J");
        check(shares.within(400 * ms, 600 * ms, stacks[2]).isEmpty(), "it was alone, and shared");
        List<Long> edges = new ArrayList<>();
        shares.forget(700 * ms, edges);
        check(edges.isEmpty() && shares.within(100 * ms, 300 * ms, stacks[0]).isEmpty(), "nothing was forgotten");
    }

    /** A counter of 20 W (or none) that from some ms to others stands still, or cannot be read. */
    private static Samples faulty(double watts, long from, long to, boolean failing) {
        Samples s = new Samples(List.of(new Domain("d", "", "", true, "measured", "", 1_000_000, 1, 1, 500)));
        for (long at = 0; at <= 600; at++) {
            boolean inside = at > from && at < to;
            s.add(at * 1_000_000, inside && failing ? Spec.FLAG_GAP | Spec.FLAG_FAILED : 0, new long[] {(long) (watts * (inside ? from : at) * 1000)});
        }
        return s;
    }

    private static void unknown(Samples s, long from, long to, String why, boolean unmoved) {
        long start = from * 1_000_000, end = to * 1_000_000;
        check(s.unknown(start, end).equals(why) && s.unmoved() == unmoved, s.unknown(start, end) + ", want " + why);
        Energy e = Energy.of(s, start, end, List.of(), new ArrayList<>());
        check((e == null) == !why.isEmpty(), e + ", but " + why);
        double want = 20.0 * (to - from) * 1000;
        if (e != null) check(Math.abs(e.total() - want) < 0.02 * want && e.hi() - e.total() >= 500 && e.total() - e.lo() >= 500, e + ", want " + want);
    }

    /** What no reading shows is no energy of 0. */
    private static void unknown() {
        long before = Samples.still;
        Samples.still = 50_000_000;
        unknown(faulty(20, 0, 0, false), 100, 500, "", false);
        unknown(faulty(0, 0, 0, false), 100, 500, "the counter of d has not moved", true);
        unknown(faulty(20, 200, 1000, false), 100, 500, "the counter of d is stuck: it has not moved for 0.4 s", false);
        unknown(faulty(20, 200, 1000, false), 50, 150, "", false);
        unknown(faulty(20, 200, 400, false), 250, 300, "the counter of d is stuck: it has not moved for 0.2 s", false);
        unknown(faulty(20, 200, 400, false), 450, 550, "", false);
        unknown(faulty(20, 200, 230, false), 100, 500, "", false);
        unknown(faulty(20, 200, 1000, true), 100, 500, "the counter of d could not be read to the end", false);
        unknown(faulty(20, 200, 400, true), 100, 500, "", false);
        check(faulty(20, 200, 400, true).late == 200_000_000, "the time that only a sum has");
        Samples.still = before;
        Samples s = series(10_000_000);
        for (long at = 0; at < 100; at++) s.add(at * 1_000_000, 0, new long[] {at / 10 * 200_000});
        Energy e = Energy.of(s, 93_000_000, 95_000_000, List.of(), new ArrayList<>());
        check(e != null && e.total() == 0 && e.lo() == 0 && e.hi() >= 40_000, "between two updates: " + e);
    }

    private static void json() throws IOException {
        for (String text : List.of("{\"a\":[1.0,-2.5E-7,true,false,null,\"\\\"\\\\\\u0000\\ud800 \\u007fü\"],\"b\":{},\"c\":[]}", "\"\"", "[[],[{}]]")) {
            StringBuilder b = new StringBuilder();
            Json.write(b, Json.parse(text));
            check(b.toString().equals(text), text + ": " + b);
        }
        StringBuilder b = new StringBuilder();
        Json.write(b, Map.of("a", Double.NaN));
        check(b.toString().equals("{\"a\":null}"), b.toString());
        for (String text : List.of("", "{", "[1,", "{\"a\" 1}", "tru", "1 2", "\"a", "\"\\u12", "{a:1}", "[1 2]")) {
            try {
                check(false, text + ": " + Json.parse(text));
            } catch (IllegalArgumentException e) {
                // As it should be.
            }
        }
    }

    private static void counts(Map<?, ?> of) {
        Task t = new Task(null, new Stack(), "t");
        List<Object> refused = new ArrayList<>();
        List<?> calls = (List<?>) of.get("calls");
        for (int i = 0; i < calls.size(); i++) {
            List<?> call = (List<?>) calls.get(i);
            double n = switch (String.valueOf(call.get(0))) {
                case "nan" -> Double.NaN;
                case "inf" -> Double.POSITIVE_INFINITY;
                case "-inf" -> Double.NEGATIVE_INFINITY;
                default -> (Double) call.get(0);
            };
            try {
                t.count(n, (String) call.get(1));
            } catch (IllegalArgumentException e) {
                refused.add((double) i);
            }
        }
        check(refused.equals(of.get("refused")), of.get("name") + ": refused " + refused + ", want " + of.get("refused"));
        check(t.units().equals(of.get("want")), of.get("name") + ": " + t.units() + ", want " + of.get("want"));
    }

    /** A sensor's file that does not answer holds nobody. */
    private static void hangs() throws Exception {
        Answer.within = 50_000_000;
        CountDownLatch never = new CountDownLatch(1);
        AtomicBoolean stuck = new AtomicBoolean();
        Powercap.Reading file = new Powercap.Reading() {
            @Override
            public long micro() {
                while (stuck.get()) {
                    try {
                        never.await();
                    } catch (InterruptedException e) {
                        continue;
                    }
                }
                return 7;
            }

            @Override
            public void close() {}
        };
        Powercap p = new Powercap(List.of(new Domain("d", "", "", true, "measured", "", 1_000_000, 1, 1)), List.of(new Powercap.Counter(file, 1L << 40)), 1_000_000);
        Samples s = new Samples(p.domains);
        p.read(s);
        check(!p.ended() && s.times.size > 0, s.times.size + " samples before it hangs");
        stuck.set(true);
        for (int i = 0; i < 100; i++) p.edge();
        check(p.ended(), "it hangs, and is not given up");
        Thread.currentThread().interrupt();
        try {
            check(false, Answer.of("b", path -> file.micro()) + " from what hangs");
        } catch (IOException e) {
            check(e.getMessage().equals("b: no answer in 0.05 s"), e.getMessage());
        }
        check(Thread.interrupted(), "the interrupt is lost");
        stuck.set(false);
        never.countDown();
        for (long until = System.nanoTime() + 60_000_000_000L; p.ended() && System.nanoTime() < until; ) Thread.onSpinWait();
        check(!p.ended(), "it answers again, and is given up");
        p.close();
    }

    private static void plain() {
        for (String text : List.of("a b/ü €.json", "\u001b[2J\nfake\t\u007f\u0000", "\u202e\u2028\u009b")) {
            String want = List.of("a b/ü €.json", "\\x1b[2J\\nfake\\t\\x7f\\x00", "\\u202e\\u2028\\x9b").get(text.startsWith("a") ? 0 : text.length() > 3 ? 1 : 2);
            check(Output.plain(text).equals(want), Output.plain(text) + ", want " + want);
        }
    }

    private static void budgets(Map<?, ?> of) {
        if (of.get("text") != null) {
            Double got = null;
            try {
                got = Budget.parse((String) of.get("text"));
            } catch (IllegalArgumentException e) {
                check(e.getMessage().contains("a budget is a number above 0"), of + ": " + e);
            }
            check(same(got, of.get("joules")), of + ": " + got);
            return;
        }
        List<Budget.Run> runs = new ArrayList<>();
        for (Object r : (List<?>) of.get("runs")) {
            List<?> v = (List<?>) r;
            runs.add(new Budget.Run(number(v.get(0)), number(v.get(1)), number(v.get(2))));
        }
        Budget.Judged got = Budget.judge(runs, number(of.get("budget_j")), (int) whole(of.get("limit")));
        List<?> mean = (List<?>) of.get("mean");
        boolean met = same(got.energy(), mean.get(0)) && same(got.lo(), mean.get(1)) && same(got.hi(), mean.get(2));
        check(met && got.verdict().equals(of.get("want")), of.get("name") + ": " + got + ", want " + of.get("want"));
    }

    private static double number(Object v) {
        return ((Number) v).doubleValue();
    }

    public static void main(String[] args) throws Exception {
        Path cases = Path.of(args[0]);
        System.out.println("between.txt: " + between(cases.resolve("between.txt")) + " cases");
        table(cases, "noise.json", Held::noise);
        table(cases, "ring.json", Held::ring);
        table(cases, "powercap.json", Held::powercap);
        table(cases, "unwrap.json", Held::unwrap);
        table(cases, "lags.json", Held::lags);
        table(cases, "tasks.json", Held::tasks);
        table(cases, "counts.json", Held::counts);
        table(cases, "budgets.json", Held::budgets);
        table(cases, "shares.json", Held::shares);
        table(cases, "cells.json", Held::cells);
        table(cases, "neighbours.json", Held::neighbours);
        table(cases, "requests.json", Held::requests);
        SessionFiles files = new SessionFiles();
        table(cases, "fields.json", files::field);
        table(cases, "files.json", files::file);
        prune();
        unknown();
        share();
        json();
        hangs();
        plain();
        System.exit(faults > 0 ? 1 : 0);
    }
}
