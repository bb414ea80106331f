package cg$;

import jdk.internal.misc.TerminatingThreadLocal;

/**
 * Holds the writer of each kernel thread and releases it when the thread ends, also of
 * those that carry virtual threads, from 21 on. Without it the reader finds out which
 * threads are gone, and events of virtual threads are lost.
 */
final class ThreadEnd extends TerminatingThreadLocal<PureWriter> {
    ThreadEnd() {}

    @Override
    protected void threadTerminated(PureWriter p) {
        try {
            p.release();
        } catch (Throwable e) {
            // the reader finds out
        }
    }
}
