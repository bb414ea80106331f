package codegreen;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** cg's samples, mapped for reading. nemb/RING.md of cg is the specification. */
final class Ring {
    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final ByteBuffer memory;
    private final int at, stride, slots;
    private long next; // number of the sample that is read next
    long lost;
    double fill; // part of the ring that the last read found new
    final int version;
    final long intervalNs, pid;
    final String writer, support;
    final Object topology;
    final Division division; // null where no program is measured
    final List<Domain> domains = new ArrayList<>();
    final Gpu.Reader gpus;

    /** Maps the ring at a path. IOException or IllegalArgumentException where there is none. */
    Ring(String path) throws IOException {
        memory = map(path, Spec.RING_HEADER_BYTES);
        byte[] magic = new byte[8];
        memory.get(0, magic);
        version = memory.getInt(8);
        at = memory.getInt(12);
        int count = memory.getInt(20), bytes = memory.getInt(28);
        slots = memory.getInt(24);
        int size = memory.capacity();
        boolean ring = new String(magic, StandardCharsets.US_ASCII).equals(Spec.RING_MAGIC);
        if (!ring || version != Spec.RING_VERSION
            || slots <= 0 || count < 0 || bytes != 8L * (Spec.RING_FIXED_WORDS + count) || at % 8 != 0 || at > size
            || Spec.RING_HEADER_BYTES + (long) Spec.RING_DOMAIN_BYTES * count > at || slots > (size - at) / bytes) {
            throw new IOException(path + ": not a sample ring of version 1");
        }
        stride = bytes;
        intervalNs = memory.getLong(32);
        pid = memory.getLong(40);
        int end = at, from = Spec.RING_HEADER_BYTES + Spec.RING_DOMAIN_BYTES * count;
        while (end > from && memory.get(end - 1) == 0) end--;
        try {
            Map<?, ?> about = end > from ? (Map<?, ?>) Json.parse(text(from, end - from)) : Map.of();
            writer = about.get("writer") instanceof String s ? s : "";
            support = about.get("domain_support") instanceof String s ? s : null;
            topology = about.get("domain_topology");
            if (about.get("domains") instanceof List<?> all) {
                for (Object d : all) domains.add(Domain.of((Map<?, ?>) d));
            } else {
                for (int i = 0; i < count; i++) domains.add(record(i));
            }
            division = Division.of(domains, about.get("division"));
            gpus = new Gpu.Reader(memory, about.get("gpus"), domains.size());
        } catch (ClassCastException | NullPointerException e) {
            throw new IOException(path + ": a damaged sample ring");
        }
        if (domains.size() != count) throw new IOException(path + ": a damaged sample ring");
        // The last milliseconds tell the power before the first task.
        long kept = Spec.RING_KEPT_BEFORE_NS / Math.max(1, intervalNs) + Spec.RING_KEPT_BEFORE_SLOTS;
        next = Math.max(0, head() - Math.min(slots, kept));
    }

    /** Maps a file of cg that has that many bytes at least. */
    static ByteBuffer map(String path, int least) throws IOException {
        // A pipe would let wait for its writer.
        if (!Files.isRegularFile(Path.of(path))) throw new IOException(path + ": not a sample ring");
        boolean interrupted = Thread.interrupted(); // a channel is closed under a thread that is
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ)) {
            long size = file.size();
            if (size < least || size > Integer.MAX_VALUE) throw new IOException(path + ": not a sample ring");
            return file.map(FileChannel.MapMode.READ_ONLY, 0, size).order(ByteOrder.nativeOrder());
        } catch (UnsupportedOperationException e) {
            throw new IOException(path + ": " + e.getMessage());
        } finally {
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    private String text(int from, int most) {
        byte[] b = new byte[most];
        memory.get(from, b);
        int n = 0;
        while (n < most && b[n] != 0) n++;
        return new String(b, 0, n, StandardCharsets.UTF_8);
    }

    /** What a ring without JSON says of a domain. */
    private Domain record(int number) {
        int from = Spec.RING_HEADER_BYTES + Spec.RING_DOMAIN_BYTES * number;
        boolean inTotal = (memory.getLong(from + 112) & 1) == 1;
        return new Domain(text(from, 64), text(from + 64, 32), "", inTotal, text(from + 96, 16), "", 0, 1, 1);
    }

    /** A word that another process writes. */
    static long word(ByteBuffer memory, int at) {
        return (long) WORD.getAcquire(memory, at);
    }

    /** What was read before stays before what is read now. */
    static void fence() {
        VarHandle.loadLoadFence();
    }

    private long head() {
        return (long) WORD.getAcquire(memory, Spec.RING_HEAD_OFFSET);
    }

    /** Brings what is new to the samples. */
    void read(Samples to) {
        long head = head();
        if (head - next > slots) {
            lost += head - slots - next;
            next = head - slots;
        }
        fill = (double) (head - next) / slots;
        long[] micro = new long[domains.size()], used = new long[3];
        for (; next < head; next++) {
            int slot = at + (int) (next % slots) * stride;
            long whole = 2 * next + 2;
            if ((long) WORD.getAcquire(memory, slot) != whole) {
                lost++;
                continue;
            }
            long t = memory.getLong(slot + 16), flags = memory.getLong(slot + 24);
            for (int d = 0; d < micro.length; d++) micro[d] = memory.getLong(slot + 8 * (Spec.RING_FIXED_WORDS + d));
            for (int i = 0; i < used.length; i++) used[i] = memory.getLong(slot + 32 + 8 * i);
            VarHandle.loadLoadFence(); // the copy comes before the second look
            if ((long) WORD.getAcquire(memory, slot) != whole) { // it was written over meanwhile
                lost++;
                continue;
            }
            to.add(t, flags, micro);
            if (division != null) division.add(t, flags, used, micro);
        }
        gpus.read();
    }

    /** Whether no more samples will come: the writer said so, or is gone. */
    boolean ended() {
        return (long) WORD.getAcquire(memory, Spec.RING_ENDED_OFFSET) != 0 || Neighbours.gone(Long.toString(pid));
    }
}
