package codegreen;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a session writes: docs/session.md of cg. The lock of the session's samples is held while it is made. */
final class Report {
    private static final String RUN_ID = String.format("%012x", new SecureRandom().nextLong() & 0xffff_ffff_ffffL);

    private final Measured m;
    final List<Task> done = new ArrayList<>();
    final List<Map<String, Object>> tasks = new ArrayList<>();
    final List<Map<String, Object>> noises = new ArrayList<>(); // of tasks
    final Map<String, Object> totals, meta;

    Report(Measured m) {
        this.m = m;
        if (m.gauges() != null) m.gauges().read();
        for (Task t : m.tasks()) if (t.resolved) done.add(t);
        for (Task t : done) {
            tasks.add(entry(t));
            noises.add(Noise.of(m, t));
        }
        totals = sum();
        meta = describe();
        noteNoise();
    }

    static Double joules(long micro) {
        return micro / 1e6;
    }

    private static Double by(Double energy, double seconds) {
        return energy == null || seconds <= 0 ? null : (Double) (energy / seconds);
    }

    private Map<String, Object> entry(Task t) {
        Energy e = t.energy;
        double seconds = t.durationS(), began = m.began().getEpochSecond() + m.began().getNano() * 1e-9;
        Map<String, Object> out = new LinkedHashMap<>();
        Map<String, Object> domains = new LinkedHashMap<>(), powers = new LinkedHashMap<>();
        Double energy = e == null ? null : joules(e.total());
        out.put("name", t.name);
        out.put("depth", t.depth);
        out.put("parent", t.parent());
        out.put("energy_j", energy);
        out.put("avg_power_w", by(energy, seconds));
        out.put("duration_s", seconds);
        out.put("suspended_s", 0);
        provenance(out, e);
        out.put("machine_energy_j", e == null ? null : joules(e.machine()));
        share(out, e);
        out.put("started_at", began + (t.started - m.mono()) * 1e-9);
        out.put("ended_at", began + (t.ended - m.mono()) * 1e-9);
        out.put("started_at_mono_ns", t.started);
        out.put("ended_at_mono_ns", t.ended);
        if (e != null) {
            e.domains().forEach((id, micro) -> {
                domains.put(id, joules(micro));
                if (seconds > 0) powers.put(id, joules(micro) / seconds);
            });
        }
        out.put("domains", domains);
        out.put("domains_power_w", powers);
        out.put("thread", t.stack.number);
        out.put("forgotten", t.forgotten);
        out.put("units", Units.of(t));
        if (!t.gpus.isEmpty()) out.put("gpus", t.gpus.stream().map(Gpu.Use::entry).toList());
        if (m.gauges() != null) out.put("gauges", m.gauges().within(t.started, t.ended));
        return out;
    }

    private String kind() {
        return m.samples().kind();
    }

    /** What stands beside an energy. */
    private void provenance(Map<String, Object> out, Energy e) {
        List<String> sources = m.source().domains.stream().filter(d -> d.inTotal() && !d.source().isEmpty())
            .map(Domain::source).distinct().toList();
        int more = sources.size() - 1;
        out.put("energy_lo_j", e == null ? null : joules(e.lo()));
        out.put("energy_hi_j", e == null ? null : joules(e.hi()));
        out.put("energy_kind", e == null ? "unavailable" : kind());
        out.put("energy_method", e == null ? "none" : e.method());
        out.put("energy_source", more < 0 ? "" : sources.get(0) + (more > 0 ? " and " + more + " more" : ""));
    }

    /** The program's share of an energy. */
    private static void share(Map<String, Object> out, Energy e) {
        Division.Share of = e == null ? null : e.program();
        out.put("program_energy_j", of == null ? null : joules(of.total()));
        out.put("program_energy_lo_j", of == null ? null : joules(of.lo()));
        out.put("program_energy_hi_j", of == null ? null : joules(of.hi()));
    }

    /** The totals of tasks at depth 0. */
    private Map<String, Object> sum() {
        List<Task> tops = done.stream().filter(t -> t.depth == 0).toList(); // in the order in which they began
        boolean known = !tops.isEmpty() && tops.stream().allMatch(t -> t.energy != null);
        long lasted = 0, covered = 0, until = Long.MIN_VALUE, micro = 0, machine = 0, lo = 0, hi = 0;
        String method = Spec.METHOD_BRACKET;
        Division.Share share = new Division.Share(0, 0, 0);
        Map<String, Long> domains = new LinkedHashMap<>(), lengths = new LinkedHashMap<>(); // ns in which it is known
        for (Task t : tops) {
            lasted += t.ended - t.started;
            covered += Math.max(0, t.ended - Math.max(t.started, until));
            until = Math.max(until, t.ended);
            Energy e = t.energy;
            if (e == null) continue;
            micro += e.total();
            machine += e.machine();
            lo += e.lo();
            hi += e.hi();
            share = Division.Share.sum(share, e.program());
            if (Samples.METHODS.indexOf(e.method()) > Samples.METHODS.indexOf(method)) method = e.method();
            e.domains().forEach((id, v) -> {
                domains.merge(id, v, Long::sum);
                lengths.merge(id, t.ended - t.started, Long::sum);
            });
        }
        long wall = m.stopped() - m.mono();
        double seconds = lasted * 1e-9;
        Map<String, Object> out = new LinkedHashMap<>(), parts = new LinkedHashMap<>(), powers = new LinkedHashMap<>();
        Double energy = known ? joules(micro) : null;
        out.put("energy_j", energy);
        Energy sum = known ? new Energy(domains, micro, machine, lo, hi, method, share) : null;
        provenance(out, sum);
        share(out, sum);
        out.put("avg_power_w", by(energy, seconds));
        out.put("duration_s", seconds);
        out.put("task_duration_s", seconds);
        out.put("wall_duration_s", wall * 1e-9);
        out.put("gap_duration_s", Math.max(0, wall - covered) * 1e-9);
        out.put("concurrent_overlap_s", Math.max(0, lasted - covered) * 1e-9);
        out.put("n_tasks", done.size());
        out.put("n_top_level_tasks", tops.size());
        if (known) {
            domains.forEach((id, v) -> {
                parts.put(id, joules(v));
                if (lengths.get(id) > 0) powers.put(id, joules(v) / (lengths.get(id) * 1e-9));
            });
        }
        out.put("domains", parts);
        out.put("domains_power_w", powers);
        out.put("sample_interval_ms", m.source().domains.isEmpty() ? null : (Double) (m.source().intervalNs / 1e6));
        Double worst = null;
        List<Map<String, Object>> warned = new ArrayList<>();
        for (int i = 0; i < noises.size(); i++) {
            Map<String, Object> noise = noises.get(i);
            if (noise == null) continue;
            if (noise.get("power_cv_percent") instanceof Double cv && (worst == null || cv > worst)) worst = cv;
            Map<String, Object> w = Noise.warning(done.get(i), noise);
            if (w != null) warned.add(w);
        }
        out.put("worst_within_task_power_cv_percent", worst);
        out.put("noise_warnings", warned);
        out.put("units", Units.of(done));
        return out;
    }

    private String quality() {
        if (m.source().domains.stream().noneMatch(Domain::inTotal)) return "no_backend";
        if (done.isEmpty()) return "no_tasks";
        if (done.stream().anyMatch(t -> t.energy == null)) {
            boolean read = done.stream().allMatch(t -> t.ended <= m.samples().latest());
            return m.samples().unmoved() && read ? "energy_zero" : "failed";
        }
        long late = m.samples().late;
        if (late > 0 && late >= Spec.LATE_PART * (m.samples().latest() - m.mono())) return "failed";
        if (!(totals.get("energy_j") instanceof Double e) || e == 0) return "energy_zero";
        return kind().equals("estimated") ? "estimated" : "ok";
    }

    private Map<String, Object> describe() {
        DateTimeFormatter form = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSSxxx");
        Instant ended = m.began().plusNanos(m.stopped() - m.mono());
        ZoneId here = ZoneId.systemDefault();
        ZonedDateTime local = m.began().atZone(here);
        String label = DateTimeFormatter.ofPattern("zzz").format(local);
        if (label.equals("Z") || label.startsWith("+") || label.startsWith("-") || label.contains(":")) {
            label = DateTimeFormatter.ofPattern("xxx").format(local);
        }
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("schema_version", Spec.SCHEMA_VERSION);
        out.put("tool", Spec.SESSION_TOOL);
        out.put("codegreen_version", Session.VERSION);
        out.put("cg_version", m.source().cgVersion);
        out.put("run_id", RUN_ID);
        out.put("session_name", m.name());
        out.put("started_at", form.format(m.began().atOffset(ZoneOffset.UTC)));
        out.put("ended_at", form.format(ended.atOffset(ZoneOffset.UTC)));
        out.put("started_at_local", form.format(local));
        out.put("ended_at_local", form.format(ended.atZone(here)));
        out.put("host_timezone", label);
        out.put("duration_total_s", (m.stopped() - m.mono()) * 1e-9);
        out.put("hostname", text("/proc/sys/kernel/hostname").strip());
        out.put("pid", ProcessHandle.current().pid());
        out.put("platform", System.getProperty("os.name").toLowerCase());
        out.put("language", "java");
        out.put("language_version", System.getProperty("java.version"));
        out.put("cpu_model", m.source().cpuModel.isEmpty() ? cpuModel() : m.source().cpuModel);
        out.put("kernel", Stream.of("os.name", "os.version", "os.arch").map(System::getProperty)
            .collect(Collectors.joining("-")));
        out.put("cwd", System.getProperty("user.dir"));
        out.put("argv", Arrays.asList(text("/proc/self/cmdline").split("\0")));
        Map<String, Object> env = new TreeMap<>();
        System.getenv().forEach((k, v) -> {
            if (k.startsWith("CODEGREEN_") || k.startsWith("CG_")) env.put(k, v);
        });
        out.put("codegreen_env", env);
        out.put("measurement_quality", quality());
        out.put("domain_support", Objects.requireNonNullElseGet(m.source().support,
            () -> Spec.SUPPORTS.get(Math.min(2, m.source().domains.size()))));
        out.put("outlier_method", Spec.OUTLIER_METHOD);
        out.put("iso_timestamp_format", Spec.TIMESTAMP_FORMAT);
        out.put("nemb_abi_version", m.source().version);
        out.put("domain_topology", m.source().topology != null ? m.source().topology : topology());
        Map<String, Object> series = new LinkedHashMap<>(), sampler = new LinkedHashMap<>();
        series.put("enabled", m.record());
        series.put("schema_version", Spec.SCHEMA_VERSION);
        series.put("sample_keys", Spec.SAMPLE_KEYS);
        series.put("t_ns_clock", Spec.SAMPLE_CLOCK);
        series.put("inclusive_of_children", true);
        out.put("timeseries", series);
        sampler.put("via", m.source().via);
        sampler.put("interval_ms", totals.get("sample_interval_ms"));
        sampler.put("samples", m.samples().count);
        sampler.put("lost", m.source().lost());
        sampler.put("gaps", m.samples().gaps);
        out.put("sampler", sampler);
        if (m.gauges() != null) out.put("gauges", m.gauges().meta());
        return out;
    }

    private static String text(String path) {
        try {
            return new String(Files.readAllBytes(Path.of(path)), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }

    private static String cpuModel() {
        return text("/proc/cpuinfo").lines().filter(l -> l.startsWith("model name")).findFirst()
            .map(l -> l.substring(l.indexOf(':') + 1).strip()).orElse(System.getProperty("os.arch"));
    }

    private Map<String, Object> topology() {
        Map<String, Object> all = new LinkedHashMap<>();
        for (Domain d : m.source().domains) {
            List<String> includes = m.source().domains.stream()
                .filter(o -> o.parent().equals(d.id()) && !o.inTotal()).map(Domain::id).toList();
            all.put(d.id(), Map.of("top_level", d.inTotal(), "kind", d.kind(), "includes", includes));
        }
        return all;
    }

    private void noteNoise() {
        List<String> uneven = new ArrayList<>(), missing = new ArrayList<>();
        for (Object o : (List<?>) totals.get("noise_warnings")) {
            Map<?, ?> w = (Map<?, ?>) o;
            for (Object reason : (List<?>) w.get("reasons")) {
                if (reason.toString().startsWith("within")) {
                    uneven.add(String.format("%s by %.1f %%", w.get("task"), w.get("within_task_power_cv_percent")));
                } else {
                    missing.add(String.format("%s %.0f %%", w.get("task"), 100 * (Double) w.get("drop_ratio")));
                }
            }
        }
        list("high-noise", "the power of these tasks varied: ", uneven);
        list("samples-missing", "samples of these tasks are missing: ", missing);
    }

    private void list(String slug, String what, List<String> of) {
        if (of.isEmpty()) return;
        String more = of.size() > 5 ? " and " + (of.size() - 5) + " more" : "";
        m.words().note(slug, what + Output.firstFive(of) + more);
    }

    /**
     * Sample n of the session as the file has it. Energies count from the session's start, powers of domains from
     * the sample before. The machine's is the mean from the sample before to the one after: its integral by the
     * trapezoidal rule is the energy.
     */
    Map<String, Object> sample(int n) {
        Samples all = m.samples();
        int first = Math.max(0, all.times.atMost(m.mono()) - 1);
        boolean known = n > 0 && ((all.flags.get(n) | all.flags.get(n - 1)) & Spec.FLAG_FAILED) == 0;
        long span = known ? all.times.get(n) - all.times.get(n - 1) : 0;
        Map<String, Object> out = new LinkedHashMap<>();
        Map<String, Object> energies = new LinkedHashMap<>(), powers = new LinkedHashMap<>();
        int after = n + 1 < all.times.size && (all.flags.get(n + 1) & Spec.FLAG_FAILED) == 0 ? n + 1 : n;
        long total = 0, around = 0;
        for (int d = 0; d < all.domains.size(); d++) {
            Domain domain = all.domains.get(d);
            long micro = all.energies[d].get(n) - all.energies[d].get(first);
            energies.put(domain.id(), joules(micro));
            if (domain.inTotal()) total += micro;
            if (span <= 0) continue;
            long before = all.energies[d].get(n - 1);
            powers.put(domain.id(), Noise.rounded((all.energies[d].get(n) - before) * 1e3 / span));
            if (domain.inTotal()) around += all.energies[d].get(after) - before;
        }
        out.put("t_ns", all.times.get(n));
        out.put("energy_j", joules(total));
        Double power = null;
        if (span > 0) power = Noise.rounded(around * 1e3 / (all.times.get(after) - all.times.get(n - 1)));
        out.put("power_w", power);
        out.put("domain_j", energies);
        out.put("domain_w", powers);
        return out;
    }
}
