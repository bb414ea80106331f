package codegreen;

import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Gives the spans of OpenTelemetry to the next processor with their energy (docs/hooks.md of cg).
 *
 * <pre>{@code
 * SdkTracerProvider.builder().addSpanProcessor(new EnergySpanProcessor(BatchSpanProcessor.create(exporter)))
 * }</pre>
 *
 * <p>The energy of a span is known some 20 ms after its end, so the next processor gets it then, in a thread of this
 * one. Spans of one trace that follow from each other in this process share a stack: traces that run at the same time
 * share the machine's energy as tasks of different threads do. The session is the one that is active, or one of its
 * own.
 */
public final class EnergySpanProcessor implements SpanProcessor {
    private static final Logger LOG = Logger.getLogger(EnergySpanProcessor.class.getName());

    /** The open spans of one trace. */
    private static final class Trace {
        final Stack stack = new Stack();
        int open; // under the session's lock
    }

    private record Open(Task task, Trace trace) {}

    private final SpanProcessor next;
    private final Session session;
    private final boolean own;
    private final Map<String, Open> open = new ConcurrentHashMap<>(); // by the span's number
    private final LinkedBlockingQueue<Runnable> ended = new LinkedBlockingQueue<>();
    private final CompletableResultCode closed = new CompletableResultCode();
    private final Thread worker = new Thread(this::work, "codegreen-spans");
    private boolean closing; // under the lock of this object, as what is put into the queue

    /** A processor around another one. */
    public EnergySpanProcessor(SpanProcessor next) {
        this.next = next;
        Session active = Session.active;
        own = active == null;
        session = own ? Session.named("opentelemetry").saveToFile(false).start() : active;
        worker.setDaemon(true);
        worker.start();
    }

    @Override
    public boolean isStartRequired() {
        return true;
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {
        if (!session.over) begin(span);
        if (next.isStartRequired()) next.onStart(parent, span);
    }

    private void begin(ReadWriteSpan span) {
        Open around = open.get(span.getParentSpanContext().getSpanId());
        Trace trace = around == null ? new Trace() : around.trace;
        Task task = new Task(session, trace.stack, span.getName(), around == null ? null : around.task);
        if (around == null && !open.isEmpty()) Shares.prepare();
        session.source.edge();
        session.lock.lock();
        try {
            task.started = System.nanoTime();
            session.tasks.add(task);
            session.pending.add(task);
            if (trace.open++ == 0) session.shares.enter(task.started, trace.stack);
        } finally {
            session.lock.unlock();
        }
        open.put(span.getSpanContext().getSpanId(), new Open(task, trace));
    }

    @Override
    public void onEnd(ReadableSpan span) {
        Open of = open.remove(span.getSpanContext().getSpanId());
        if (of == null) { // it began before this processor was there, or behind the session
            giveToNext(span);
            return;
        }
        end(of);
        if (!put(() -> handOn(span, of.task))) handOn(span, of.task); // behind shutdown
    }

    private void end(Open of) {
        session.lock.lock();
        try {
            long now = System.nanoTime();
            boolean last = --of.trace.open == 0;
            if (of.task.over) return; // the session ended it meanwhile
            long at = Math.max(now, of.task.started);
            of.task.ended = last ? session.shares.leave(at, of.trace.stack) : at;
            of.task.over = true;
        } finally {
            session.lock.unlock();
        }
        session.source.edge();
    }

    /** Puts work behind what ended so far; false where nobody will do it. */
    private synchronized boolean put(Runnable work) {
        return !closing && ended.add(work);
    }

    /** The worker: it goes on whatever the next processor throws, and though that interrupts it. */
    private void work() {
        while (!closed.isDone()) {
            try {
                ended.take().run();
            } catch (Throwable e) {
                LOG.log(Level.WARNING, "codegreen: the next processor failed", e);
            }
        }
    }

    private void handOn(ReadableSpan span, Task task) {
        ReadableSpan with = span;
        try {
            with = new SpanWithEnergy(span, task);
        } catch (RuntimeException | LinkageError e) { // a span is not lost for its joules
            LOG.log(Level.WARNING, "codegreen: a span has no energy", e);
        }
        if (own) forget(task);
        try {
            giveToNext(with);
        } catch (RuntimeException e) { // it shall have those that follow
            LOG.log(Level.WARNING, "codegreen: the next processor failed", e);
        }
    }

    private void giveToNext(ReadableSpan span) {
        if (next.isEndRequired()) next.onEnd(span);
    }

    /** The tasks of a session of its own are in no file, and there may be many. */
    private void forget(Task task) {
        session.lock.lock();
        try {
            session.tasks.remove(task);
            session.pending.remove(task);
        } finally {
            session.lock.unlock();
        }
    }

    /** Is done when the next processor has each span that ended so far, and has flushed it. */
    @Override
    public CompletableResultCode forceFlush() {
        CompletableResultCode flushed = new CompletableResultCode();
        if (!put(() -> follow(next::forceFlush, flushed))) return next.forceFlush();
        return flushed;
    }

    /** Is done when the next processor has each span that ended, and was shut down; it ends a session of its own. */
    @Override
    public CompletableResultCode shutdown() {
        CompletableResultCode following = new CompletableResultCode();
        synchronized (this) {
            if (closing) return closed;
            ended.add(() -> {
                try {
                    if (own) session.close();
                } finally {
                    try {
                        follow(next::shutdown, following);
                    } finally {
                        closed.succeed(); // the worker's end
                    }
                }
            });
            closing = true;
        }
        return CompletableResultCode.ofAll(List.of(following, closed));
    }

    /** Does the first, and has the second end as it; it fails where the first cannot be done. */
    private static void follow(Supplier<CompletableResultCode> toDo, CompletableResultCode second) {
        try {
            CompletableResultCode first = toDo.get();
            first.whenComplete(() -> {
                if (first.isSuccess()) second.succeed();
                else second.fail();
            });
        } catch (Throwable e) {
            second.fail();
            throw e;
        }
    }
}
