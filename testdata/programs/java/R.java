package PACKAGE;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Checkpoints for tests: each thread's stack of sites, in memory. At exit, the
 * file of the property cg.balance gets a line for each thread: how many sites
 * were entered, how many are still open, and what was left out of order. The file of the
 * property cg.owners has a line for each site, the number of the function whose place it
 * is: there is a word of each that came while that function was not the innermost.
 */
public final class R {
    private static final class Stack {
        int[] open = new int[16];
        int depth;
        long entered;
        String wrong = "";
    }

    private static final List<Stack> all = new CopyOnWriteArrayList<>();
    private static final ThreadLocal<Stack> own = new ThreadLocal<>();

    static {
        String name = System.getProperty("cg.balance");
        if (name != null) {
            Runtime.getRuntime().addShutdownHook(new Thread() { // a lambda would need more of the JDK
                @Override
                public void run() {
                    StringBuilder b = new StringBuilder();
                    for (Stack s : all) {
                        b.append(s.entered).append(' ').append(s.depth).append(s.wrong).append('\n');
                    }
                    try {
                        Files.write(Path.of(name), b.toString().getBytes());
                    } catch (IOException e) {
                        throw new RuntimeException(e);
                    }
                }
            });
        }
    }

    private R() {}

    public static void ce(int site) { e(site); }

    public static void cx(int site) { x(site); }

    public static void e(int site) {
        Stack s = own.get();
        if (s == null) {
            own.set(s = new Stack());
            all.add(s);
        }
        if (s.depth == s.open.length) {
            s.open = java.util.Arrays.copyOf(s.open, 2 * s.depth);
        }
        s.open[s.depth++] = site;
        s.entered++;
    }

    private static final List<String> owners = owners();

    private static List<String> owners() {
        String name = System.getProperty("cg.owners");
        try {
            return name == null ? null : Files.readAllLines(Path.of(name));
        } catch (IOException e) {
            throw new RuntimeException(e);
        }
    }

    public static void p(int place) {
        Stack s = own.get();
        int owner = owners == null ? 0 : Integer.parseInt(owners.get(place - 1));
        if (s == null || s.depth == 0 || owner != 0 && s.open[s.depth - 1] != owner) {
            if (s != null && s.wrong.length() < 1000) {
                s.wrong += " wrong place " + place;
            }
        }
    }

    public static void x(int site) {
        Stack s = own.get();
        if (s == null || s.depth == 0 || s.open[--s.depth] != site) {
            if (s != null && s.wrong.length() < 1000) {
                s.wrong += " wrong exit of " + site;
            }
        }
    }
}
