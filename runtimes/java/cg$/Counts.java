package cg$;

import jdk.internal.misc.Unsafe;

/**
 * Counts events of a pause (checkpoint/FORMAT.md, Counted events) without a call of the
 * library: cg_count_enter and cg_count_exit of runtimes/native/quick.h in Java, on the same memory, which
 * the library tells. Each method gives false, and does nothing, where the library has to
 * see to the event.
 */
final class Counts {
    private static final int KNOWN = 1 << 12, NODE = 192, CHILD = 8, CALLS = 16, USUAL = 48, COUNTING = 28, PLACE = 128,
        EVENTS = 136;

    /* Constants to the compiler. */
    private static final Unsafe MEMORY;
    private static final long TID, TABLE, EPOCH;
    private static final long LEFT, SURE, FRAME, FRAMES_END, NODES, COUNTED, TOUCHED, OPEN, TREE, WINDOW_EPOCH, LAST;

    /** False where events cannot be counted so, or none is. */
    static final boolean ON;

    static {
        Unsafe memory = null;
        long tid = 0;
        long[] at = new long[13];
        try {
            if (R.lay(Object.class.getModule(), "jdk.internal.misc", at)) {
                memory = Unsafe.getUnsafe();
                tid = memory.objectFieldOffset(Thread.class, "tid");
            }
        } catch (Throwable e) {
            memory = null;
        }
        MEMORY = memory;
        ON = memory != null;
        TID = tid;
        TABLE = at[0];
        EPOCH = at[1];
        LEFT = at[2];
        SURE = at[3];
        FRAME = at[4];
        FRAMES_END = at[5];
        NODES = at[6];
        COUNTED = at[7];
        TOUCHED = at[8];
        OPEN = at[9];
        TREE = at[10];
        WINDOW_EPOCH = at[11];
        LAST = at[12];
    }

    private Counts() {}

    /** Finds the memory. */
    static void load() {}

    /** The state of this thread, 0 where it is not in a pause. */
    private static long paused() {
        long tid = MEMORY.getLong(Thread.currentThread(), TID), known = TABLE + ((tid & (KNOWN - 1)) << 4);
        if (tid == 0 || MEMORY.getLong(known) != tid) // a thread that is being made has no number yet
            return 0;
        long t = MEMORY.getLong(known + 8);
        return MEMORY.getInt(t + LEFT) == 0 || MEMORY.getLong(EPOCH) != MEMORY.getLong(t + WINDOW_EPOCH) ? 0 : t;
    }

    @jdk.internal.vm.annotation.Hidden
    static boolean enter(int site) {
        long t = paused();
        if (t == 0)
            return false;
        long frame = MEMORY.getLong(t + FRAME), top = MEMORY.getInt(frame), nodes = MEMORY.getLong(t + NODES);
        long path = MEMORY.getLong(nodes + top * NODE + CHILD), callee = nodes + (int) path * (long) NODE;
        frame += 16;
        if ((int) (path >>> 32) != site || isSure(t, callee) || frame == MEMORY.getLong(t + FRAMES_END))
            return false;
        long calls = MEMORY.getLong(callee + CALLS) + 1;
        count(t, top, frame);
        MEMORY.putLong(null, callee + CALLS, calls);
        MEMORY.putLong(null, frame, path);
        MEMORY.putLong(null, frame + 8, 0);
        MEMORY.storeFence();
        MEMORY.putLong(null, MEMORY.getLong(t + TREE) + PLACE, MEMORY.getLong(t + LAST) << 24 | (int) path);
        return true;
    }

    @jdk.internal.vm.annotation.Hidden
    static boolean exit(int site) {
        long t = paused();
        if (t == 0)
            return false;
        long frame = MEMORY.getLong(t + FRAME), path = MEMORY.getLong(frame), top = (int) path;
        if ((int) (path >>> 32) != site || MEMORY.getLong(frame + 8) != 0
            || isSure(t, MEMORY.getLong(t + NODES) + top * NODE))
            return false;
        count(t, top, frame - 16);
        MEMORY.storeFence();
        MEMORY.putLong(null, MEMORY.getLong(t + TREE) + PLACE,
            MEMORY.getLong(t + LAST) << 24 | MEMORY.getInt(frame - 16));
        return true;
    }

    private static boolean isSure(long t, long node) {
        return MEMORY.getInt(node + USUAL) - 1 + Integer.MIN_VALUE >= MEMORY.getInt(t + SURE) + Integer.MIN_VALUE;
    }

    /**
     * Counts an event that ends an interval in a node, after which the frame at an address is the innermost.
     *
     * An event is counted as a whole or not at all, at the end of the stack too: this is the deepest of
     * what it calls, its first change takes as much stack as any other, and compiled it has no calls.
     */
    @jdk.internal.vm.annotation.Hidden
    private static void count(long t, long top, long frame) {
        long tree = MEMORY.getLong(t + TREE), counted = MEMORY.getLong(t + COUNTED) + top * NODE;
        long open = MEMORY.getLong(t + OPEN) + COUNTING, touched = MEMORY.getLong(t + TOUCHED) + (top >> 4);
        long events = MEMORY.getLong(tree + EVENTS) + 1;
        int left = MEMORY.getInt(t + LEFT) - 1, n = MEMORY.getInt(counted) + 1;
        MEMORY.putLong(null, tree + EVENTS, events);
        MEMORY.putLong(null, t + FRAME, frame);
        MEMORY.putInt(null, t + LEFT, left);
        MEMORY.putInt(null, counted, n);
        MEMORY.putByte(null, touched, (byte) 1);
        MEMORY.putInt(null, open, 1);
    }

    /** Lets this kernel thread count its own events from here on. */
    static void begin() {
        R.know(MEMORY.getLong(Thread.currentThread(), TID));
    }
}
