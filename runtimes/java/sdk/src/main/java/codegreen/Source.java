package codegreen;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Where a session has its samples from: the run's ring, that of a sidecar, powercap, or nowhere. */
class Source {
    String via = "none"; // run, sidecar, powercap, none
    long intervalNs;
    List<Domain> domains = List.of();
    Object topology;
    String support;
    String cg = ""; // path of cg
    String cgVersion; // null where it is not known
    String cpuModel = "";
    Integer version; // of the ring
    Division division; // null where the samples tell of no program
    Map<Integer, Gpu> gpus = Map.of(); // by domain, those of which cg tells who used them
    String without = ""; // counters that are not in the total, and why
    String doubts = ""; // what is wrong with the units of counters

    void read(Samples to) {}

    /** Called at the beginning and the end of a task. */
    void edge() {}

    boolean ended() {
        return false;
    }

    long lost() {
        return 0;
    }

    double fill() {
        return 0;
    }

    /** Ends what samples, and waits for it. Nothing is read after it. */
    void close() {}

    /**
     * The first source that is there.
     *
     * @param intervalNs 0 for any
     * @param buffer     samples that cg keeps, 0 for any
     * @param why        takes in what stands in the way
     */
    static Source open(long intervalNs, int buffer, boolean record, List<String> why) {
        String path = System.getenv("CG_SAMPLES"), writer = "";
        if (path != null && !path.isEmpty()) {
            try {
                Ring ring = new Ring(path);
                writer = ring.writer;
                boolean fits = buffer == 0 && (intervalNs == 0 || intervalNs == ring.intervalNs);
                if (fits && !ring.ended()) return new Ringed("run", ring, findCg(writer), null);
            } catch (IOException | RuntimeException e) {
                // It is none: the next source is asked.
            }
        }
        String cg = findCg(writer);
        if (cg.isEmpty()) {
            why.add("cg is not in PATH, and CODEGREEN_CG does not name it");
        } else {
            try {
                return sidecar(cg, intervalNs, buffer == 0 ? Spec.SIDECAR_SLOTS : buffer);
            } catch (IOException | RuntimeException e) {
                why.add(e.getMessage());
            }
        }
        Source found = Powercap.open(intervalNs, record, why);
        if (found == null) {
            found = new Source();
            found.support = Spec.SUPPORTS.get(0);
        }
        found.cg = cg;
        return found;
    }

    /** The path of cg, "" where there is none. */
    static String findCg(String writer) {
        List<String> places = new ArrayList<>();
        places.add(System.getenv("CODEGREEN_CG"));
        places.add(writer);
        String folders = System.getenv("PATH");
        for (String folder : (folders == null ? "" : folders).split(":")) {
            if (!folder.isEmpty()) places.add(folder + "/cg");
        }
        for (String place : places) {
            if (place == null || place.isEmpty()) continue;
            try {
                Path path = Path.of(place);
                if (Files.isRegularFile(path) && Files.isExecutable(path)) return path.toAbsolutePath().toString();
            } catch (InvalidPathException e) {
                continue;
            }
        }
        return "";
    }

    /** Samples of cg. The helper is null where they are the run's. */
    private static final class Ringed extends Source {
        private final Ring ring;
        private final Helper helper;

        Ringed(String via, Ring ring, String cg, Helper helper) {
            this.via = via;
            this.ring = ring;
            this.cg = cg;
            this.helper = helper;
            intervalNs = ring.intervalNs;
            domains = ring.domains;
            topology = ring.topology;
            support = ring.support;
            version = ring.version;
            division = ring.division;
            gpus = ring.gpus.of;
        }

        @Override
        void read(Samples to) {
            ring.read(to);
        }

        @Override
        boolean ended() {
            return ring.ended();
        }

        @Override
        long lost() {
            return ring.lost;
        }

        @Override
        double fill() {
            return ring.fill;
        }

        @Override
        void close() {
            if (helper != null) helper.end();
        }
    }

    private static Source sidecar(String cg, long intervalNs, int buffer) throws IOException {
        List<String> flags = new ArrayList<>(List.of("--buffer", Integer.toString(buffer)));
        if (intervalNs > 0) flags.addAll(List.of("-p", intervalNs / 1000 + "us"));
        Helper helper = new Helper(cg, flags);
        try {
            Map<?, ?> line = helper.line;
            Source s = new Ringed("sidecar", new Ring((String) line.get("ring")), cg, helper);
            s.cgVersion = line.get("cg_version") instanceof String v ? v : null;
            s.cpuModel = line.get("cpu_model") instanceof String v ? v : "";
            return s;
        } catch (IOException | RuntimeException e) {
            helper.end();
            throw e;
        }
    }

    /** A cg sampler (docs/session.md of cg). */
    static final class Helper {
        final Map<?, ?> line; // what it says of itself
        private final Process process;

        Helper(String cg, List<String> flags) throws IOException {
            List<String> command = new ArrayList<>(
                List.of(cg, "sampler", "--pid", Long.toString(ProcessHandle.current().pid())));
            command.addAll(flags);
            process = new ProcessBuilder(command).start();
            try {
                line = hear(process);
                process.getErrorStream().close();
            } catch (IOException | RuntimeException e) {
                end();
                throw e;
            }
        }

        /** Ends it, and waits for it. */
        void end() {
            Source.end(process);
        }
    }

    /** What it says first. It has READY_NS; what answers otherwise is no cg. */
    private static Map<?, ?> hear(Process process) throws IOException {
        StringBuilder heard = new StringBuilder();
        InputStream out = process.getInputStream();
        for (long until = System.nanoTime() + Spec.READY_NS; heard.chars().filter(c -> c == '\n').count() < 2; ) {
            boolean over = !process.isAlive();
            int n = out.available();
            if (n > 0) {
                heard.append(new String(out.readNBytes(n), StandardCharsets.UTF_8));
            } else if (over) {
                String said = new String(process.getErrorStream().readNBytes(4096), StandardCharsets.UTF_8).strip();
                throw new IOException(said.isEmpty() ? "cg sampler ended at once" : said);
            } else if (System.nanoTime() > until) {
                throw new IOException("cg sampler does not answer");
            } else {
                pause(1);
            }
        }
        String[] lines = heard.toString().split("\n");
        Object line = null;
        try {
            line = Json.parse(lines[0]);
        } catch (IllegalArgumentException e) {
            // It is said below.
        }
        if (line instanceof Map<?, ?> m && m.get("cg_sampler") instanceof Double v && v == 1
            && m.get("ring") instanceof String && lines[1].equals("READY")) {
            return m;
        }
        throw new IOException("what answers is no cg sampler");
    }

    private static void end(Process process) {
        boolean interrupted = Thread.interrupted(); // it would not be waited for
        try {
            process.getOutputStream().close();
            if (!process.waitFor(5, TimeUnit.SECONDS)) process.destroy();
        } catch (IOException e) {
            process.destroy();
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    /** A setting in nanoseconds; IllegalArgumentException where it is not in its bounds. */
    static long between(Duration d, long least, long most, String what, String from) {
        if (d.compareTo(Duration.ofNanos(least)) >= 0 && d.compareTo(Duration.ofNanos(most)) <= 0) return d.toNanos();
        throw new IllegalArgumentException(what + " " + d + ": use " + from + " to a minute");
    }

    /** Sleeps for ms; an interrupt is kept for whoever it is meant for. */
    static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            long until = System.nanoTime() + ms * 1_000_000;
            while (System.nanoTime() < until) Thread.onSpinWait();
            Thread.currentThread().interrupt();
        }
    }
}
