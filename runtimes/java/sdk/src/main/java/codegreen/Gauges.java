package codegreen;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What cg reads besides energies, such as temperatures: by a cg sampler of their own. nemb/RING.md of cg is the
 * specification of the memory.
 */
final class Gauges {
    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final long periodNs;
    private List<Map<?, ?>> columns = List.of(); // name, unit, metric
    private long[] times = new long[256];
    private double[][] values = {}; // of each column; NaN is not known
    private int count;
    private long lost;

    private ByteBuffer memory; // null where nothing is read
    private int at, stride, slots;
    private long next;
    private Source.Helper helper;

    /** The names of metrics; IllegalArgumentException for what cannot be one. */
    static List<String> names(String... metrics) {
        for (String name : metrics) {
            if (name.isEmpty() || name.contains(",")) {
                throw new IllegalArgumentException("gauges " + name + ": use names of metrics of cg track, or all");
            }
        }
        return List.of(metrics);
    }

    /** Starts what reads gauges. There is a warning where some, or all, are not read. */
    Gauges(String cg, List<String> names, long periodNs, Words words) {
        this.periodNs = periodNs;
        Source.Helper started = null;
        try {
            if (cg.isEmpty()) throw new IOException("cg is not in PATH, and CODEGREEN_CG does not name it");
            started = new Source.Helper(cg,
                List.of("--gauges", String.join(",", names), "-p", periodNs / 1000 + "us"));
            open((String) started.line.get("ring"));
            helper = started;
            if (started.line.get("without") instanceof List<?> without && !without.isEmpty()) {
                words.note("no-gauges", "these gauges are not recorded: "
                    + String.join("; ", without.stream().map(String::valueOf).toList()));
            }
        } catch (IOException | RuntimeException e) {
            if (started != null) started.end();
            memory = null;
            columns = List.of();
            words.note("no-gauges", "no gauges are recorded: " + e.getMessage());
        }
    }

    private void open(String path) throws IOException {
        memory = Ring.map(path, Spec.GAUGE_HEADER_BYTES);
        byte[] magic = new byte[8];
        memory.get(0, magic);
        at = memory.getInt(12);
        int n = memory.getInt(16), size = memory.capacity();
        slots = memory.getInt(20);
        boolean is = new String(magic, StandardCharsets.US_ASCII).equals(Spec.GAUGE_MAGIC)
            && memory.getInt(8) == Spec.GAUGE_VERSION;
        if (!is || n < 0 || n > size / 8 || slots <= 0 || at % 8 != 0 || at < Spec.GAUGE_HEADER_BYTES || at > size
            || slots > (size - at) / (8 * (Spec.GAUGE_FIXED_WORDS + n))) {
            throw new IOException(path + ": no gauges of version 1");
        }
        stride = 8 * (Spec.GAUGE_FIXED_WORDS + n);
        byte[] text = new byte[at - Spec.GAUGE_HEADER_BYTES];
        memory.get(Spec.GAUGE_HEADER_BYTES, text);
        int end = text.length;
        while (end > 0 && text[end - 1] == 0) end--;
        columns = new ArrayList<>();
        Map<?, ?> about = (Map<?, ?>) Json.parse(new String(text, 0, end, StandardCharsets.UTF_8));
        for (Object c : (List<?>) about.get("columns")) columns.add((Map<?, ?>) c);
        if (columns.size() != n) throw new IOException(path + ": damaged gauges");
        values = new double[n][times.length];
    }

    /** Brings what is new. */
    void read() {
        if (memory == null) return;
        long head = (long) WORD.getAcquire(memory, Spec.GAUGE_HEAD_OFFSET);
        if (head - next > slots) {
            lost += head - slots - next;
            next = head - slots;
        }
        for (; next < head; next++) {
            int slot = at + (int) (next % slots) * stride;
            long whole = 2 * next + 2;
            if ((long) WORD.getAcquire(memory, slot) != whole) {
                lost++;
                continue;
            }
            if (count == times.length) {
                times = Arrays.copyOf(times, 2 * count);
                for (int c = 0; c < values.length; c++) values[c] = Arrays.copyOf(values[c], 2 * count);
            }
            times[count] = memory.getLong(slot + 8);
            for (int c = 0; c < values.length; c++) {
                values[c][count] = memory.getDouble(slot + 8 * (Spec.GAUGE_FIXED_WORDS + c));
            }
            VarHandle.loadLoadFence(); // the copy comes before the second look
            if ((long) WORD.getAcquire(memory, slot) != whole) lost++; // it was written over meanwhile
            else count++;
        }
    }

    /** Ends what reads them. */
    void close() {
        if (memory == null) return;
        helper.end();
        read();
        memory = null;
    }

    /** The first reading that is not before a moment. */
    private int from(long moment) {
        int low = 0, high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (times[middle] < moment) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    /** What gauges showed from one moment to another, by name; one that was not read then is absent. */
    Map<String, Object> within(long start, long end) {
        Map<String, Object> all = new LinkedHashMap<>();
        int first = from(start), after = from(end + 1);
        for (int c = 0; c < values.length; c++) {
            double sum = 0, least = Double.POSITIVE_INFINITY, most = Double.NEGATIVE_INFINITY;
            int n = 0;
            for (int i = first; i < after; i++) {
                double v = values[c][i];
                if (Double.isNaN(v)) continue;
                sum += v;
                least = Math.min(least, v);
                most = Math.max(most, v);
                n++;
            }
            if (n == 0) continue;
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("mean", sum / n);
            one.put("min", least);
            one.put("max", most);
            one.put("readings", n);
            all.put((String) columns.get(c).get("name"), one);
        }
        return all;
    }

    /** How they are described in the file. */
    Map<String, Object> meta() {
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("interval_ms", periodNs / 1e6);
        out.put("columns", columns);
        out.put("readings", count);
        out.put("lost", lost);
        return out;
    }

    int readings() {
        return count;
    }

    /** A reading as the file has it. */
    Map<String, Object> reading(int n) {
        Map<String, Object> out = new LinkedHashMap<>(), by = new LinkedHashMap<>();
        for (int c = 0; c < values.length; c++) {
            double v = values[c][n];
            by.put((String) columns.get(c).get("name"), Double.isNaN(v) ? null : (Double) v);
        }
        out.put("t_ns", times[n]);
        out.put("values", by);
        return out;
    }
}
