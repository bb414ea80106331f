package cg$;

import java.io.FileInputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.concurrent.locks.LockSupport;

/**
 * Opens the channel, once in a process. The file that CG_RUN names has lines
 * key=value: channel, the path of it; native, the library, empty if there is
 * none; reason, why there is none; server, the socket of cg.
 *
 * No lambdas here: the first of a program takes tens of milliseconds.
 */
@SuppressWarnings("removal")
final class Startup implements PrivilegedAction<Integer> {
    private String server = "";

    private Startup() {}

    /** One of R.OFF, R.NATIVE, R.PURE. */
    static int begin() {
        try {
            return AccessController.doPrivileged(new Startup());
        } catch (Throwable e) {
            return R.OFF;
        }
    }

    public Integer run() {
        String run = System.getenv("CG_RUN");
        if (run == null || run.isEmpty())
            return R.OFF;
        String why;
        try {
            String[] lines;
            try (FileInputStream in = new FileInputStream(run)) {
                lines = new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n");
            }
            server = value(lines, "server");
            String channel = value(lines, "channel"), library = value(lines, "native");
            why = library.isEmpty() ? value(lines, "reason") : natively(library, channel);
            if (why == null)
                return R.NATIVE;
            PureWriter.open(channel);
        } catch (Throwable e) {
            tell("off", reason(e));
            return R.OFF;
        }
        tell("pure", why);
        return R.PURE;
    }

    private static String value(String[] lines, String key) {
        for (String line : lines)
            if (line.startsWith(key) && line.startsWith("=", key.length()))
                return line.substring(key.length() + 1);
        return "";
    }

    /** Why the library is of no use here, or null. */
    private static String natively(String library, String channel) {
        try {
            System.load(library);
            byte[] path = channel.concat("\0").getBytes(StandardCharsets.UTF_8);
            int error = R.open(path, path.length);
            if (error == 0)
                Counts.load(); // now, as the stack may be at its end later
            return error == 0 ? null : "the channel cannot be opened: errno ".concat(Integer.toString(error));
        } catch (Throwable e) {
            return reason(e);
        }
    }

    private static String reason(Throwable e) {
        String message = e.getMessage();
        return message == null ? e.getClass().getName() : message;
    }

    /** The class of virtual threads, null where there are none. */
    static Class<?> virtual() {
        try {
            return Class.forName("java.lang.VirtualThread", false, null);
        } catch (Throwable e) {
            return null;
        }
    }

    /** Tells cg, and waits until it knows: the process may end at any time. */
    private void tell(String what, String reason) {
        try (SocketChannel to = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            byte[] body = reason.replace('\n', ' ').getBytes(StandardCharsets.UTF_8);
            byte[] head = (what + "\t" + body.length + "\n").getBytes(StandardCharsets.UTF_8);
            ByteBuffer request = ByteBuffer.allocate(head.length + body.length).put(head).put(body).flip();
            to.connect(UnixDomainSocketAddress.of(server));
            to.configureBlocking(false);
            ByteBuffer answer = ByteBuffer.allocate(16);
            for (int i = 0; i < 2000; i++) {
                if (request.hasRemaining())
                    to.write(request);
                else if (to.read(answer) != 0)
                    break;
                nap(1000000);
            }
        } catch (Throwable e) {
            // nobody reads it
        }
    }

    /** Sleeps, and takes neither an interrupt nor a permit from the program. */
    static void nap(long nanos) {
        LockSupport.parkNanos(nanos);
        LockSupport.unpark(Thread.currentThread());
    }
}
