package cg$;

import jdk.internal.misc.Unsafe;

/**
 * Counts events of a pause (checkpoint/FORMAT.md, Counted events) without a call of the
 * library: cg_count_quickly of runtimes/native/sums.h in Java, on the same memory, which
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
        MEMORY.putLong(callee + CALLS, MEMORY.getLong(callee + CALLS) + 1);
        MEMORY.putLong(frame, path);
        MEMORY.putLong(frame + 8, 0);
        count(t, top, frame, (int) path);
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
        count(t, top, frame - 16, MEMORY.getInt(frame - 16));
        return true;
    }

    private static boolean isSure(long t, long node) {
        return MEMORY.getInt(node + USUAL) - 1 + Integer.MIN_VALUE >= MEMORY.getInt(t + SURE) + Integer.MIN_VALUE;
    }

    private static void count(long t, long top, long frame, int node) {
        MEMORY.putInt(t + LEFT, MEMORY.getInt(t + LEFT) - 1);
        long counted = MEMORY.getLong(t + COUNTED) + top * NODE;
        MEMORY.putInt(counted, MEMORY.getInt(counted) + 1);
        MEMORY.putByte(MEMORY.getLong(t + TOUCHED) + (top >> 4), (byte) 1);
        MEMORY.putInt(MEMORY.getLong(t + OPEN) + COUNTING, 1);
        MEMORY.putLong(t + FRAME, frame);
        long tree = MEMORY.getLong(t + TREE);
        MEMORY.putLong(tree + EVENTS, MEMORY.getLong(tree + EVENTS) + 1);
        MEMORY.putLongRelease(null, tree + PLACE, MEMORY.getLong(t + LAST) << 24 | node);
    }

    /** Lets this kernel thread count its own events from here on. */
    static void begin() {
        R.know(MEMORY.getLong(Thread.currentThread(), TID));
    }
}
