// Traces with causes, suppressed exceptions and frames of every kind name the
// lines of the source; the status is that of an uncaught exception.
import java.util.List;

public class Traces {
    final int n;
    Traces(int n) {
        this.n = check(
            n);
    }
    static int check(int n) {
        if (n > 2)
            throw new IllegalArgumentException("n");
        return n;
    }
    static class Node { Node next; int v() { return next
        .next
        .v(); } }
    static int unbox(Integer i) {
        return
            i;
    }
    static int divide(int a, int b) { return a
        / b; }
    static Object cast(Object o) {
        try {
            return (String) o;
        } finally {
            if (o == null)
                System.out.println("null");
        }
    }
    static void attempt(Runnable r) { try { r.run(); } catch (RuntimeException e) { e.printStackTrace(); } }
    static int where() { return new Throwable().getStackTrace()[0].getLineNumber() + StackWalker.getInstance().walk(s -> s.findFirst().get().getLineNumber()); }
    public static void main(String[] args) {
        attempt(() -> new Traces(3)); attempt(() -> { new Node().v(); }); attempt(() -> unbox(null));
        attempt(() -> divide(1, 0)); attempt(() -> cast(1)); attempt(() -> { List.of(1, 2).forEach(x -> { check(x + 1); }); });
        attempt(new Runnable() { public void run() { int[] a = {1}; a[
            1]++; } });
        System.out.println(where());
        try { check(3); } catch (IllegalArgumentException e) {
            RuntimeException r = new RuntimeException("outer", e); r.addSuppressed(new Exception("also")); throw r;
        }
    }
}
