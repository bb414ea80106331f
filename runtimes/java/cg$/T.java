package cg$;

import jdk.internal.misc.TerminatingThreadLocal;

/**
 * What P knows of each kernel thread, and hears of its end: also of those that
 * carry virtual threads, from 21 on. Without it the reader finds out which
 * threads are gone, and events of virtual threads are lost.
 */
final class T extends TerminatingThreadLocal<P> {
    T() {}

    @Override
    protected void threadTerminated(P p) {
        try {
            p.release();
        } catch (Throwable e) {
            // the reader finds out
        }
    }
}
