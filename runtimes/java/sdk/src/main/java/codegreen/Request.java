package codegreen;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A request that cg monitor hears of: it begins, and ends when it is closed.
 *
 * <pre>{@code
 * try (Request r = Request.annotate("GET /cart")) {
 *     cart();
 * }
 * }</pre>
 *
 * <p>The variable CG_SOCKET names what cg monitor --socket listens at; without it nothing is done. Nobody waits for
 * who listens: what is not taken at once is dropped, and {@link #dropped} counts it. The processor time of the thread
 * that began a request tells its energy. A virtual thread has none, so there time tells it (docs/monitor.md of cg).
 */
public final class Request implements AutoCloseable {
    private static final Request NOTHING = new Request(null, 0, 0, 0);

    private final Listener to;
    private final long serial;
    private final long number;
    private final int tid;
    private final AtomicBoolean over = new AtomicBoolean();

    private Request(Listener to, long serial, long number, int tid) {
        this.to = to;
        this.serial = serial;
        this.number = number;
        this.tid = tid;
    }

    /** A request begins. The name is that of its route, not of the single request. */
    public static Request annotate(String name) {
        return annotate(name, System.getenv(Spec.REQUEST_SOCKET_VARIABLE));
    }

    /** The same for a socket; null or "" is none. */
    public static Request annotate(String name, String socket) {
        if (socket == null || socket.isEmpty()) return NOTHING;
        Listener to = Listener.at(socket);
        long cpu = Shares.Times.of(Thread.currentThread());
        int tid = cpu < 0 ? 0 : Listener.thread();
        long[] begun = to.begin(name, tid, cpu);
        return begun == null ? NOTHING : new Request(to, begun[0], begun[1], tid);
    }

    /** How many beginnings and ends of requests could not be said, since nobody listened or took them. */
    public static long dropped() {
        return Listener.dropped();
    }

    /** The request ends. Only the first call says so. */
    @Override
    public void close() {
        if (to == null || !over.compareAndSet(false, true)) return;
        // Another thread's time says nothing of it.
        long cpu = tid != 0 && Listener.thread() == tid ? Shares.Times.of(Thread.currentThread()) : -1;
        to.end(serial, number, tid, cpu);
    }
}
