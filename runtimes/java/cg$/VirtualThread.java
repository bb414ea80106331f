package cg$;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The open frames of a virtual thread. The reader keeps one stack for each kernel thread, and this
 * one's frames move between those: a kernel thread that finds another virtual
 * thread on it than at its last event suspends the frames of that one and
 * resumes those of this one. Time in between is on the thread that was left.
 */
final class VirtualThread {
    private static final ThreadLocal<VirtualThread> CURRENT = new ThreadLocal<>();
    private static final AtomicLong IDS = new AtomicLong();

    private final long id = IDS.incrementAndGet();
    private int[] open = new int[8];
    private int[] places = new int[8]; // of the open frames, 0 for none
    private int depth;

    private static VirtualThread current() {
        VirtualThread v = CURRENT.get();
        if (v == null)
            CURRENT.set(v = new VirtualThread());
        return v;
    }

    static void enter(int site) {
        try {
            VirtualThread v = current();
            if (v.depth == v.open.length) {
                int[] more = java.util.Arrays.copyOf(v.places, 2 * v.depth);
                v.open = java.util.Arrays.copyOf(v.open, 2 * v.depth);
                v.places = more;
            }
            v.event(R.ENTER, site);
            v.places[v.depth] = 0;
            v.open[v.depth++] = site;
        } catch (OutOfMemoryError | RuntimeException | LinkageError e) {
            // the call is not reported
        }
    }

    static void exit(int site) {
        try {
            VirtualThread v = current();
            v.event(R.EXIT, site);
            for (int i = v.depth; i-- > 0;)
                if (v.open[i] == site) {
                    v.depth = i; // frames above it end with it
                    break;
                }
        } catch (VirtualMachineError | RuntimeException | LinkageError e) {
            // it ends with its caller
        }
    }

    static void place(int place) {
        try {
            VirtualThread v = current();
            v.event(R.PLACE, place);
            if (v.depth > 0)
                v.places[v.depth - 1] = place;
        } catch (OutOfMemoryError | RuntimeException | LinkageError e) {
            // it stays in the place before
        }
    }

    private void event(int kind, int site) {
        if (R.MODE == R.NATIVE) {
            if (!R.on(id, kind, site)) {
                R.show(id, open, places, depth);
                R.on(id, kind, site);
            }
        } else
            PureWriter.on(id, open, depth, kind, site);
    }
}
