package cg$;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Writes events in plain Java, where the library cannot be loaded. An object is the
 * writer of one kernel thread. The same events go to the same channel
 * (checkpoint/FORMAT.md); words are sums of an event and the nanoseconds, since
 * Java cannot read the cycle counter.
 */
final class PureWriter {
    private static final int PAGE = 4096, CHUNK = 65536, SITES = 1 << 21, FILES = 1 << 16,
        NAMES = 33554432, RETRY = 512;
    private static final int READER = 20, CLOSED = 24, STAMP = 32, HEAD = 64, LOST = 128, WAITS = 136,
        FULL = 144, LIMIT = 152;
    private static final int FIRST = 1, RESYNC = 2, SUMS = 16;

    private static final VarHandle INTS = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    /** Set by open, before there is any event. */
    private static ByteBuffer opening;
    private static long space;
    private static int cost; // of an event, in sixteenths of a nanosecond

    /** The channel; its own class, so that it is constant to the compiler. */
    private static final class Channel {
        static final ByteBuffer MEMORY = opening;
        static final int COUNT = MEMORY.getInt(8);
        static final int CHUNKS = PAGE + (COUNT * 4 + PAGE - 1) / PAGE * PAGE;
        static final boolean CYCLES = MEMORY.getInt(16) == 1;
        static final File CG = new File("/proc/" + MEMORY.getInt(READER));
        static final ThreadLocal<PureWriter> STATE = state();
    }

    private static boolean carried; // STATE is of kernel threads

    /** ThreadEnd needs a package of java.base that cg opens. */
    @SuppressWarnings("unchecked")
    private static ThreadLocal<PureWriter> state() {
        try {
            ThreadLocal<PureWriter> t = (ThreadLocal<PureWriter>)
                Class.forName("cg$.ThreadEnd").getDeclaredConstructor().newInstance();
            carried = true;
            return t;
        } catch (Throwable e) {
            return new ThreadLocal<>();
        }
    }

    private int next, end;    // of the chunk, in bytes
    private int index = -1;   // of the chunk
    private boolean started, busy, waited; // waited: since the last chunk, in vain
    private long missed;      // events lost since the last chunk
    private int patience;     // events until room is asked for again, where there was none; else 0
    private int pid, tid;

    // The frames of a virtual thread that the reader has on this thread.
    private long shown;
    private int[] open;
    private int depth;

    static void open(String path) throws IOException {
        if (!new File(path).exists()) // it would be made
            throw new IOException(path + ": no such file");
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            long size = file.length();
            ByteBuffer m = size < PAGE || size > Integer.MAX_VALUE ? null
                : file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, size).order(ByteOrder.nativeOrder());
            long n = m == null ? 0 : m.getInt(8);
            if (n <= 0 || m.getInt(0) != 0x48434743 || m.getInt(4) != 4 || m.getInt(12) != CHUNK
                || m.getLong(CLOSED) != 0
                || PAGE + (n * 4 + PAGE - 1) / PAGE * PAGE + n * CHUNK + SITES * 8L + FILES * 16L + NAMES != size)
                throw new IOException("not a channel of this version");
            opening = m;
        }
        String ns = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString(); // pid:[4026531836]
        space = Long.parseLong(ns.substring(ns.indexOf('[') + 1, ns.indexOf(']')));
        calibrate();
        current(); // fails here where threads cannot be told apart
    }

    /**
     * Measures what an event costs: the least of some batches, since whatever
     * comes between makes a batch longer, and the first are interpreted.
     */
    private static void calibrate() {
        ByteBuffer buffer = ByteBuffer.allocateDirect(128 * 8).order(ByteOrder.nativeOrder());
        long least = Long.MAX_VALUE, start = System.nanoTime();
        for (int i = 0; i < 200 && (i == 0 || System.nanoTime() - start < 2_000_000); i++) {
            long begin = System.nanoTime();
            for (int k = 0; k < 128; k++)
                one(buffer, k);
            least = Math.min(least, System.nanoTime() - begin);
        }
        cost = (int) Math.min(least * 16 / 128, (1 << 28) - 1);
    }

    private static void one(ByteBuffer buffer, int k) {
        LONGS.setRelease(buffer, k * 8, System.nanoTime() + (1L << 61));
    }

    static void enter(int site) {
        try {
            current().put(R.ENTER << 21 | site);
        } catch (OutOfMemoryError | RuntimeException | LinkageError e) {
            lose();
        }
    }

    static void exit(int site) {
        try {
            current().put(R.EXIT << 21 | site);
        } catch (VirtualMachineError | RuntimeException | LinkageError e) {
            lose();
        }
    }

    private static void lose() {
        try {
            LONGS.getAndAdd(Channel.MEMORY, LOST, 1L);
        } catch (Throwable e) {
            // too little of the stack is left even for that
        }
    }

    private static PureWriter current() {
        PureWriter p = Channel.STATE.get();
        return p == null ? begin() : p;
    }

    /**
     * A virtual thread that waits for a lock of the library goes on on another kernel thread, and meanwhile another one
     * reports events here. So what finds the number, and what finds room, takes no lock: no java.nio.file,
     * which registers its memory with the cleaner that all threads share.
     */
    private static PureWriter begin() {
        PureWriter p = new PureWriter();
        Channel.STATE.set(p); // first: what follows may run code of the program
        p.busy = true;
        try {
            String self = new File("/proc/thread-self").getCanonicalPath(); // /proc/PID/task/TID
            int from = "/proc/".length();
            p.pid = Integer.parseInt(self.substring(from, self.indexOf('/', from)));
            p.tid = Integer.parseInt(self.substring(self.lastIndexOf('/') + 1));
        } catch (IOException | RuntimeException e) {
            Channel.STATE.remove();
            throw new IllegalStateException("threads have no numbers: ".concat(String.valueOf(e.getMessage())));
        }
        p.busy = false;
        return p;
    }

    private void put(int bits) {
        int at = next;
        if (at >= end) {
            if (!more())
                return;
            at = next;
        }
        long word = ((long) bits << 40) + System.nanoTime();
        VarHandle.releaseFence(); // the word before is there first
        Channel.MEMORY.putLong(at, word);
        next = at + 8;
    }

    /**
     * Finds room for the next word, or counts it as lost. An event that comes while this thread looks for room, from
     * a security manager of the program's, is lost alone.
     */
    private boolean more() {
        if (!busy) {
            if (patience == 0) {
                busy = true;
                try {
                    if (room())
                        return true;
                } finally {
                    busy = false;
                }
                patience = RETRY;
            }
            patience--;
        }
        missed++;
        LONGS.getAndAdd(Channel.MEMORY, LOST, 1L);
        return false;
    }

    /** As cg_take_chunk_or_tree of runtimes/native/words.h. */
    private boolean room() {
        release();
        if (take())
            return true;
        if (waited)
            return false;
        waited = true;
        if ((long) LONGS.getVolatile(Channel.MEMORY, FULL) == 0)
            return take(); // the reader may have been there meanwhile
        LONGS.getAndAdd(Channel.MEMORY, WAITS, 1L);
        long begin = System.nanoTime(), nap = 20000;
        boolean virtual = Thread.currentThread().getClass() == Startup.virtual();
        while ((long) LONGS.getVolatile(Channel.MEMORY, FULL) > 0 && System.nanoTime() - begin < 10000000000L) {
            if (virtual) // which may not move to another kernel thread here
                for (long from = System.nanoTime(); System.nanoTime() - from < nap;)
                    Thread.onSpinWait();
            else
                Startup.nap(nap);
            if (take())
                return true;
            nap = Math.min(2 * nap, 1000000);
            if ((long) LONGS.getVolatile(Channel.MEMORY, CLOSED) != 0
                || !Channel.CG.exists())
                return false;
        }
        return take();
    }

    /** Gives the chunk back: it is full, or its thread ends. */
    void release() {
        next = end = 0;
        if (index < 0)
            return;
        LONGS.getAndAdd(Channel.MEMORY, FULL, 1L);
        INTS.setRelease(Channel.MEMORY, PAGE + index * 4, 2);
        index = -1;
    }

    private boolean take() {
        if ((long) LONGS.getVolatile(Channel.MEMORY, FULL) >= Channel.MEMORY.getLong(LIMIT))
            return false;
        for (int i = 0; i < Channel.COUNT; i++) {
            if (Channel.MEMORY.getInt(PAGE + i * 4) != 0 || !INTS.compareAndSet(Channel.MEMORY, PAGE + i * 4, 0, 1))
                continue;
            long sequence = (long) LONGS.getAndAdd(Channel.MEMORY, HEAD, 1L) + 1;
            int c = Channel.CHUNKS + i * CHUNK;
            Channel.MEMORY.putLong(c + 8, tick());
            Channel.MEMORY.putInt(c + 16, pid);
            Channel.MEMORY.putInt(c + 20, tid);
            Channel.MEMORY.putInt(c + 24, SUMS | (started ? 0 : FIRST) | (missed > 0 ? RESYNC : 0));
            Channel.MEMORY.putInt(c + 28, cost);
            Channel.MEMORY.putLong(c + 48, missed);
            Channel.MEMORY.putLong(c + 56, space);
            LONGS.setRelease(Channel.MEMORY, c, sequence);
            started = true;
            waited = false;
            missed = 0;
            index = i;
            next = c + 64;
            end = c + CHUNK;
            return true;
        }
        return false;
    }

    /** The channel's clock, or a little less: no later than the words to come. */
    private static long tick() {
        if (!Channel.CYCLES)
            return System.nanoTime();
        while (true) {
            long stamp = (long) LONGS.getAcquire(Channel.MEMORY, STAMP);
            long tick = (long) LONGS.getAcquire(Channel.MEMORY, STAMP + 8),
                nanos = (long) LONGS.getAcquire(Channel.MEMORY, STAMP + 16),
                rate = (long) LONGS.getAcquire(Channel.MEMORY, STAMP + 24);
            if ((stamp & 1) != 0 || (long) LONGS.getAcquire(Channel.MEMORY, STAMP) != stamp) {
                Thread.onSpinWait();
                continue;
            }
            long since = System.nanoTime() - nanos;
            since -= 2000 + (since >> 13); // more than the rate is inexact
            return since <= 0 ? tick : tick + (long) (since * (rate / 4294967296.0));
        }
    }

    /** An event of the virtual thread id, whose frames were open before it. */
    static void on(long id, int[] frames, int n, int kind, int site) {
        if (!carried) {
            lose();
            return;
        }
        PureWriter p = current();
        if (p.shown != id) {
            while (p.depth > 0)
                p.put(R.SUSPEND << 21 | p.open[--p.depth]);
            p.shown = id;
            if (p.open == null || p.open.length <= n)
                p.open = new int[2 * n + 64];
            for (; p.depth < n; p.depth++)
                p.put(R.RESUME << 21 | (p.open[p.depth] = frames[p.depth]));
        }
        if (kind == R.ENTER) {
            if (p.depth == p.open.length)
                p.open = Arrays.copyOf(p.open, 2 * p.depth);
            p.put(kind << 21 | site);
            p.open[p.depth++] = site;
            return;
        }
        p.put(kind << 21 | site);
        for (int i = p.depth; i-- > 0;)
            if (p.open[i] == site) {
                p.depth = i;
                break;
            }
    }
}
