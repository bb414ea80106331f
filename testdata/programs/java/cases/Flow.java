// Where control ends stays where it was: loops without end, bodies that only
// throw, labels, blocks behind which nothing is reached, finally of the
// program's own.
public class Flow {
    static int forever() { int n = 0; while (true) { if (++n > 5) return n; } }
    static int endless(int[] a) { for (;;) { try { a[0]++; if (a[0] > 3) return a[0]; } finally { a[0]++; } } }
    static int thrower() { throw new UnsupportedOperationException("no"); }
    static int doThrow() { do { throw new IllegalStateException(); } while (true); }
    static int both(boolean b) { if (b) return 1; else return 2; }
    static int sync(Object o) { synchronized (o) { return 1; } }
    static int labels() { int n = 0; outer: for (int i = 0; i < 5; i++) { inner: for (int j = 0; ; j++) { if (j == i) continue outer; if (i == 4) break outer; n += j; if (n > 100) break inner; } } block: { if (n > 0) break block; n = -1; } return n; }
    @SuppressWarnings("finally") static int overrides() { try { return thrower(); } finally { return 3; } }
    static int order() { int x = 1; try { return x; } finally { x = 2; System.out.println("finally " + x); } }
    static void resources() throws Exception { class R implements AutoCloseable { final String n; R(String n) { this.n = n; } public void close() throws Exception { System.out.println("close " + n); throw new Exception("close " + n); } } try (R a = new R("a"); var b = new R("b")) { throw new Exception("body"); } }
    static boolean empty() { ; ; { } return true; }
    static void nothing() {}
    static void deadIf() { if (false) { thrower(); } do ; while (false); }
    static int precise() throws java.io.IOException { try { if (empty()) throw new java.io.IOException("precise"); return 1; } catch (final Exception e) { throw e; } }
    static int one(){return 1;}static int two(){return 2;}
    static int conditional(Integer i) { return i != null ? i : one(); }
    static int assertion(int x) { assert x > 0 : "x"; return x; }
    public static void main(String[] args) throws Exception {
        System.out.println(forever() + endless(new int[1]) + both(true) + sync("") + labels() + overrides() + order() + one() + two() + conditional(null) + assertion(1)); nothing(); deadIf();
        try { thrower(); } catch (UnsupportedOperationException e) { e.printStackTrace(); }
        try { doThrow(); } catch (IllegalStateException e) { e.printStackTrace(); }
        try { precise(); } catch (java.io.IOException e) { e.printStackTrace(); }
        resources();
    }
}
