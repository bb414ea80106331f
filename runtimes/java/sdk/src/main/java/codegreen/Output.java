package codegreen;

import java.io.BufferedWriter;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/** The files of a session. */
final class Output {
    private interface Text {
        void to(Writer w) throws IOException;
    }

    private Output() {}

    /** Writes the session's file. The lock of its samples is held. */
    static void write(Session s) throws IOException {
        Measured m = s.measured();
        replace(s.output, s.csv ? w -> csv(m, w) : w -> json(m, w));
    }

    /** A text with escapes in the place of what is not printed but obeyed by a terminal. */
    static String plain(String text) {
        StringBuilder b = new StringBuilder();
        text.codePoints().forEach(c -> {
            switch (Character.getType(c)) {
                case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE, Character.PRIVATE_USE, Character.UNASSIGNED -> b.append(escape(c));
                default -> b.appendCodePoint(c);
            }
        });
        return b.toString();
    }

    /** A list as a warning shows it. */
    static String firstFive(List<String> of) {
        return String.join(", ", of.subList(0, Math.min(5, of.size())));
    }

    private static String escape(int c) {
        if (c == '\n') return "\\n";
        if (c == '\t') return "\\t";
        if (c == '\r') return "\\r";
        return String.format(c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
    }

    /** Writes a file aside, syncs it, and gives it its name. A device or a pipe stays what it is. */
    private static void replace(Path path, Text text) throws IOException {
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            try (FileOutputStream f = Answer.of(path.toString(), FileOutputStream::new)) { // a pipe may have no reader
                to(f, text);
            }
            return;
        }
        if (Files.exists(path)) path = path.toRealPath();
        String number = String.format("%08x", ThreadLocalRandom.current().nextInt());
        Path part = path.resolveSibling("." + path.getFileName() + ".part-" + number);
        Files.createFile(part);
        try {
            // A channel would be closed under a thread that is interrupted.
            try (FileOutputStream f = new FileOutputStream(part.toFile())) {
                to(f, text);
                f.getFD().sync();
            }
            if (Files.exists(path)) Files.setPosixFilePermissions(part, Files.getPosixFilePermissions(path));
            Files.move(part, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private static void to(FileOutputStream f, Text text) throws IOException {
        Writer w = new BufferedWriter(new OutputStreamWriter(f, StandardCharsets.UTF_8));
        text.to(w);
        w.flush();
    }

    /** In pieces, for samples may be many. */
    static void json(Measured m, Writer w) throws IOException {
        Report r = new Report(m);
        w.write("{\n\"meta\": ");
        Json.write(w, r.meta);
        w.write(",\n\"tasks\": [");
        for (int i = 0; i < r.tasks.size(); i++) {
            StringBuilder b = new StringBuilder();
            Json.write(b, r.tasks.get(i));
            w.write(i > 0 ? ",\n" : "\n");
            w.append(b, 0, b.length() - 1).append(",\"timeseries\":");
            if (m.record()) {
                Task t = r.done.get(i);
                int from = m.samples().times.atMost(t.started - 1), to = m.samples().times.atMost(t.ended);
                w.write("[");
                for (int n = from; n < to; n++) {
                    w.write(n > from ? ",\n" : "\n");
                    Json.write(w, r.sample(n));
                }
                w.write("]");
            } else {
                w.write("null");
            }
            w.write(",\"noise\":");
            Json.write(w, r.noises.get(i));
            w.write("}");
        }
        if (m.gauges() != null && m.record()) {
            w.write("],\n\"gauges\": [");
            for (int n = 0; n < m.gauges().readings(); n++) {
                w.write(n > 0 ? ",\n" : "\n");
                Json.write(w, m.gauges().reading(n));
            }
        }
        w.write("],\n\"totals\": ");
        Json.write(w, r.totals);
        w.write(",\n\"warnings\": ");
        Json.write(w, m.words().all());
        w.write("\n}\n");
    }

    /** A line for each task. */
    private static void csv(Measured m, Writer w) throws IOException {
        Report r = new Report(m);
        List<String> line = new ArrayList<>(Spec.TASK_COLUMNS);
        for (Domain d : m.source().domains) {
            line.add(cell("domain_" + d.id() + "_j"));
            line.add(cell("domain_" + d.id() + "_w"));
        }
        w.write(String.join(",", line) + "\n");
        for (Map<String, Object> t : r.tasks) {
            line.clear();
            for (String key : Spec.TASK_COLUMNS) line.add(cell(t.get(key)));
            for (Domain d : m.source().domains) {
                line.add(cell(((Map<?, ?>) t.get("domains")).get(d.id())));
                line.add(cell(((Map<?, ?>) t.get("domains_power_w")).get(d.id())));
            }
            w.write(String.join(",", line) + "\n");
        }
    }

    private static String cell(Object v) {
        if (v == null) return "";
        String text = v instanceof Double d ? BigDecimal.valueOf(d).toPlainString()
            : v instanceof String s ? harmless(s) : v.toString();
        return text.matches("(?s).*[\",\r\n].*") ? '"' + text.replace("\"", "\"\"") + '"' : text;
    }

    /**
     * A text that no spreadsheet runs (owasp.org/www-community/attacks/CSV_Injection): an apostrophe stands before what
     * begins like a formula, also behind a semicolon, which separates cells in some countries. Numbers stay numbers.
     */
    static String harmless(String text) {
        return text.matches("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?") ? text
            : plain(text.replaceAll("(^|;)( *)(?=[" + Spec.FORMULA_STARTS.replace("-", "\\-") + "])", "$1$2'"));
    }

    /** Lets cg draw the session as it is now. */
    static boolean plot(Session s, Path path) {
        String file = path.getFileName().toString();
        String ending = file.substring(Math.max(0, file.lastIndexOf('.'))).toLowerCase();
        if (!List.of(".html", ".svg", ".png").contains(ending)) {
            throw new IllegalArgumentException(path + ": a plot ends in .html, .svg or .png");
        }
        String why = null;
        if (!s.record) {
            why = "power over time needs recordTimeSeries(true)";
        } else if (s.source.cg.isEmpty()) {
            why = "cg is not in PATH, and CODEGREEN_CG does not name it";
        } else {
            try {
                why = draw(s, path, file.substring(0, file.lastIndexOf('.')));
            } catch (IOException e) {
                why = e.toString();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                why = "it was interrupted";
            }
        }
        if (why != null) s.note("no-plot", file + " is not drawn: " + why);
        return why == null;
    }

    /** null, or what stood in the way. */
    private static String draw(Session s, Path path, String name) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("codegreen-"), saved = folder.resolve(name + ".json");
        try {
            s.data.lock();
            try {
                boolean open = s.stopped == 0;
                if (open) {
                    s.settle(true);
                    s.stopped = System.nanoTime();
                }
                try {
                    Measured m = s.measured();
                    replace(saved, w -> json(m, w));
                } finally {
                    if (open) s.stopped = 0;
                }
            } finally {
                s.data.unlock();
            }
            Process cg = new ProcessBuilder(s.source.cg, "report", saved.toString(), "-o", path.toString())
                .redirectErrorStream(true).start();
            cg.getOutputStream().close();
            String said = new String(cg.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            return cg.waitFor() == 0 ? null : said;
        } finally {
            Files.deleteIfExists(saved);
            Files.deleteIfExists(folder);
        }
    }
}
