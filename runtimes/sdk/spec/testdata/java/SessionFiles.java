package codegreen;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;

/** Holds the files of sessions to fields.json and files.json. */
final class SessionFiles {
    private final Map<String, Map<String, Map<?, ?>>> fields = new LinkedHashMap<>(); // of an object, by its name

    /** Takes a row of fields.json. */
    void field(Map<?, ?> row) {
        if (row.get("only") != null && !row.get("only").equals("java")) return;
        fields.computeIfAbsent((String) row.get("of"), of -> new LinkedHashMap<>()).put((String) row.get("field"), row);
    }

    private static long whole(Object number) {
        return ((Number) number).longValue();
    }

    private static Source source(Map<?, ?> of, List<Domain> domains) {
        Source out = new Source() {
            @Override
            long lost() {
                return whole(of.get("lost"));
            }
        };
        out.via = (String) of.get("via");
        out.intervalNs = whole(of.get("interval_ns"));
        out.domains = domains;
        out.topology = of.get("topology");
        out.support = (String) of.get("support");
        out.cgVersion = (String) of.get("cg_version");
        out.cpuModel = (String) of.get("cpu_model");
        out.version = of.get("version") == null ? null : (Integer) (int) whole(of.get("version"));
        return out;
    }

    private static Task task(Map<?, ?> of, List<Task> before) {
        Stack stack = new Stack();
        for (Object at = of.get("parent"); at != null; ) {
            Task parent = before.get((int) whole(at));
            stack.tasks.add(0, parent);
            at = parent.parent == null ? null : (Object) before.indexOf(parent.parent);
        }
        Task t = new Task(null, stack, (String) of.get("name"));
        t.started = whole(of.get("started_ns"));
        t.ended = whole(of.get("ended_ns"));
        t.forgotten = (Boolean) of.get("forgotten");
        t.over = t.resolved = true;
        if (of.get("counts") instanceof List<?> counts) {
            for (Object c : counts) t.count((Double) ((List<?>) c).get(0), (String) ((List<?>) c).get(1));
        }
        if (of.get("energy") instanceof Map<?, ?> e) {
            Map<String, Long> domains = new LinkedHashMap<>();
            ((Map<?, ?>) e.get("domains")).forEach((id, uj) -> domains.put((String) id, whole(uj)));
            t.energy = new Energy(domains, whole(e.get("uj")), whole(e.get("machine_uj")), whole(e.get("lo_uj")),
                whole(e.get("hi_uj")), (String) e.get("method"), share(e));
        }
        return t;
    }

    private static Division.Share share(Map<?, ?> energy) {
        if (!(energy.get("program_uj") instanceof List<?> of)) return null;
        return new Division.Share(whole(of.get(0)), whole(of.get(1)), whole(of.get(2)));
    }

    private static String text(Map<?, ?> of) throws IOException {
        Map<?, ?> session = (Map<?, ?>) of.get("session");
        List<Domain> domains = new ArrayList<>();
        for (Object d : (List<?>) of.get("domains")) domains.add(Domain.of((Map<?, ?>) d));
        Samples samples = new Samples(domains);
        for (Object o : (List<?>) of.get("samples")) {
            long[] row = ((List<?>) o).stream().mapToLong(SessionFiles::whole).toArray();
            samples.add(row[0], row[1], Arrays.copyOfRange(row, 2, row.length));
        }
        List<Task> tasks = new ArrayList<>();
        for (Object t : (List<?>) of.get("tasks")) tasks.add(task((Map<?, ?>) t, tasks));
        Instant began = Instant.EPOCH.plusNanos((long) ((Double) session.get("began_s") * 1e6) * 1000);
        StringWriter out = new StringWriter();
        Output.json(new Measured((String) session.get("name"), (Boolean) session.get("record"),
            source((Map<?, ?>) of.get("source"), domains), samples, null, began, whole(session.get("mono_ns")),
            whole(session.get("stopped_ns")), tasks, new Words()), out);
        return out.toString();
    }

    private static boolean same(Object got, Object want) {
        if (want instanceof Map<?, ?> w) {
            return got instanceof Map<?, ?> g && g.keySet().equals(w.keySet())
                && w.keySet().stream().allMatch(key -> same(g.get(key), w.get(key)));
        }
        if (want instanceof List<?> w) {
            if (!(got instanceof List<?> g) || g.size() != w.size()) return false;
            for (int i = 0; i < w.size(); i++) if (!same(g.get(i), w.get(i))) return false;
            return true;
        }
        if (want instanceof Double w) return got instanceof Double g && Math.abs(g - w) <= 1e-12 * Math.max(1, Math.abs(w));
        return Objects.equals(got, want);
    }

    private static boolean fits(Object value, Map<?, ?> row) {
        if (value == null) return (Boolean) row.get("null");
        return switch ((String) row.get("type")) {
            case "string" -> value instanceof String;
            case "boolean" -> value instanceof Boolean;
            case "number" -> value instanceof Double;
            case "integer" -> value instanceof Double v && v == Math.rint(v);
            case "list" -> value instanceof List;
            default -> value instanceof Map;
        };
    }

    /** Checks that an object has its fields, no others, and values of their types. */
    private void hold(String name, String of, Object object) {
        Map<?, ?> got = (Map<?, ?>) object;
        Map<String, Map<?, ?>> want = fields.get(of);
        Held.check(got.keySet().equals(want.keySet()), name + ": " + of + " has " + new TreeSet<>(got.keySet()) + ", want " + want.keySet());
        want.forEach((field, row) -> Held.check(fits(got.get(field), row), name + ": " + field + " of " + of + " is " + got.get(field)));
    }

    private void each(String name, String of, Object list) {
        for (Object one : (List<?>) list) hold(name, of, one);
    }

    private static void compare(String name, String of, Map<?, ?> got, Object want) {
        ((Map<?, ?>) want).forEach((field, v) -> Held.check(same(got.get(field), v),
            name + ": " + field + " of " + of + " is " + got.get(field) + ", want " + v));
    }

    /** A case of files.json. */
    void file(Map<?, ?> of) throws IOException {
        String name = (String) of.get("name"), text = text(of);
        Files.writeString(Path.of(System.getenv("FILES"), name.replace(' ', '-') + ".json"), text);
        Map<?, ?> got = (Map<?, ?>) Json.parse(text), meta = (Map<?, ?>) got.get("meta"), totals = (Map<?, ?>) got.get("totals");
        List<?> tasks = (List<?>) got.get("tasks");
        hold(name, "file", got);
        hold(name, "meta", meta);
        hold(name, "timeseries", meta.get("timeseries"));
        hold(name, "sampler", meta.get("sampler"));
        ((Map<?, ?>) meta.get("domain_topology")).values().forEach(place -> hold(name, "place", place));
        hold(name, "totals", totals);
        each(name, "noise_warning", totals.get("noise_warnings"));
        each(name, "warning", got.get("warnings"));
        each(name, "task", tasks);
        each(name, "unit", totals.get("units"));
        for (Object o : tasks) {
            Map<?, ?> task = (Map<?, ?>) o;
            each(name, "unit", task.get("units"));
            if (task.get("timeseries") != null) each(name, "sample", task.get("timeseries"));
            if (task.get("noise") != null) hold(name, "noise", task.get("noise"));
        }
        Map<?, ?> want = (Map<?, ?>) of.get("want");
        compare(name, "meta", meta, want.get("meta"));
        compare(name, "totals", totals, want.get("totals"));
        List<?> wanted = (List<?>) want.get("tasks");
        Held.check(tasks.size() == wanted.size(), name + ": " + tasks.size() + " tasks, want " + wanted.size());
        for (int i = 0; i < Math.min(tasks.size(), wanted.size()); i++) compare(name, "task " + i, (Map<?, ?>) tasks.get(i), wanted.get(i));
        List<Object> slugs = new ArrayList<>();
        for (Object w : (List<?>) got.get("warnings")) slugs.add(((Map<?, ?>) w).get("slug"));
        Held.check(slugs.equals(want.get("warnings")), name + ": warnings " + slugs + ", want " + want.get("warnings"));
    }
}
