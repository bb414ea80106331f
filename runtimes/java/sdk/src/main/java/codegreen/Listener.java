package codegreen;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** A socket at which cg monitor listens, or not. Nobody waits for it. */
final class Listener {
    private static final Map<String, Listener> ALL = new ConcurrentHashMap<>();
    private static final ThreadLocal<Integer> THREAD = ThreadLocal.withInitial(Stack::number);

    private final String path;
    private final ReentrantLock lock = new ReentrantLock(); // virtual threads are not pinned by it
    private final ArrayDeque<byte[]> unsent = new ArrayDeque<>(); // ends that did not fit
    private SocketChannel channel; // null without a connection
    private long serial = 1; // of the connection
    private long number; // of the last request
    private long tried;
    private boolean hasTried;
    private long dropped;

    private Listener(String path) {
        this.path = path;
    }

    static Listener at(String path) {
        Listener found = ALL.get(path);
        return found != null ? found : ALL.computeIfAbsent(path, Listener::new);
    }

    /** The kernel's number of this thread, 0 where it is not known. It is not for virtual threads. */
    static int thread() {
        return THREAD.get();
    }

    static long dropped() {
        long sum = 0;
        for (Listener l : ALL.values()) {
            l.lock.lock();
            sum += l.dropped;
            l.lock.unlock();
        }
        return sum;
    }

    /**
     * What is said of a request: that it begins, or with null as the name, that it ends. Times are since 1970; tid is 0
     * and cpuNs negative where they are not known.
     */
    static String line(long number, String name, long atUs, int tid, long cpuNs) {
        StringBuilder b = new StringBuilder("{\"annotate\":\"request\",\"id\":").append(number);
        if (name != null) {
            String text = name.strip();
            if (text.codePointCount(0, text.length()) > Spec.REQUEST_NAME_MOST) {
                text = text.substring(0, text.offsetByCodePoints(0, Spec.REQUEST_NAME_MOST));
            }
            b.append(",\"name\":");
            try {
                Json.write(b, text.isEmpty() ? "?" : text);
            } catch (IOException e) { // a StringBuilder has none
                b.append("\"?\"");
            }
        }
        b.append(name == null ? ",\"end\":" : ",\"begin\":");
        seconds(b, atUs, 1_000_000, 6);
        if (tid > 0) {
            b.append(",\"tid\":").append(tid);
            if (cpuNs >= 0) seconds(b.append(",\"cpu\":"), cpuNs, 1_000_000_000, 9);
        }
        return b.append("}\n").toString();
    }

    /** A time in so many parts of a second. */
    private static void seconds(StringBuilder b, long time, long parts, int digits) {
        String part = Long.toString(time % parts);
        b.append(time / parts).append('.').append("0".repeat(digits - part.length())).append(part);
    }

    private static long now() {
        Instant at = Instant.now();
        return at.getEpochSecond() * 1_000_000 + at.getNano() / 1000;
    }

    /** The numbers of the connection and of the request; null where nobody heard of it. */
    long[] begin(String name, int tid, long cpuNs) {
        lock.lock();
        boolean interrupted = Thread.interrupted(); // a channel is closed under a thread that is
        try {
            long mine = ++number;
            if (connected() && flush() && write(bytes(line(mine, name == null ? "" : name, now(), tid, cpuNs)))) {
                return new long[] {serial, mine};
            }
            dropped++;
            return null;
        } finally {
            lock.unlock();
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    void end(long begunOn, long mine, int tid, long cpuNs) {
        lock.lock();
        boolean interrupted = Thread.interrupted();
        try {
            if (begunOn != serial) return; // its connection is closed, and it has ended with that
            byte[] text = bytes(line(mine, null, now(), tid, cpuNs));
            if (flush() && write(text) || begunOn != serial) return;
            if (unsent.size() >= Spec.REQUEST_UNSENT_MOST) {
                dropped++;
                close();
                return;
            }
            unsent.add(text);
        } finally {
            lock.unlock();
            if (interrupted) Thread.currentThread().interrupt();
        }
    }

    private static byte[] bytes(String line) {
        return line.getBytes(StandardCharsets.UTF_8);
    }

    private boolean connected() {
        if (channel != null) return true;
        if (hasTried && System.nanoTime() - tried < Spec.REQUEST_RETRY_NS) return false;
        tried = System.nanoTime();
        hasTried = true;
        SocketChannel c = null;
        try {
            c = SocketChannel.open(StandardProtocolFamily.UNIX);
            c.configureBlocking(false);
            if (c.connect(UnixDomainSocketAddress.of(Path.of(path)))) {
                channel = c;
                return true;
            }
        } catch (IOException | RuntimeException e) {
            // Nobody listens.
        }
        closeQuietly(c);
        return false;
    }

    /** Whether a line was taken, whole. */
    private boolean write(byte[] line) {
        if (channel == null) return false;
        try {
            int sent = channel.write(ByteBuffer.wrap(line));
            if (sent == line.length) return true;
            if (sent == 0) return false;
        } catch (IOException | RuntimeException e) {
            // Nobody listens any more.
        }
        close(); // half a line: who listens ends the requests
        return false;
    }

    /** Says the ends that did not fit before; whether none is left. */
    private boolean flush() {
        while (!unsent.isEmpty() && write(unsent.peek())) unsent.poll();
        return unsent.isEmpty();
    }

    private void close() {
        closeQuietly(channel);
        channel = null;
        unsent.clear();
        serial++;
    }

    private static void closeQuietly(SocketChannel c) {
        try {
            if (c != null) c.close();
        } catch (IOException e) {
            // It is gone.
        }
    }
}
