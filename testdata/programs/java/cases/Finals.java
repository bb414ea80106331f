// Finals that are assigned on some paths, also before an early return, and
// local variables that are effectively final.
public class Finals {
    final int a; final String b; static final int S; static final int[] T;
    static { int s; if (System.nanoTime() != 0) s = 1; else s = 2; S = s; try { T = new int[] {S}; } finally { s = 3; } }
    Finals(int x) { if (x > 0) { a = x; b = "positive"; return; } a = -x; switch (x) { case 0: b = "zero"; break; default: b = "negative"; } }
    Finals() { this(5); }
    Finals(String s) { final int n; try { n = Integer.parseInt(s); } catch (NumberFormatException e) { a = 0; b = e.getMessage(); return; } a = n; b = "parsed"; }
    Finals(boolean loop) { int i = 0; while (true) { if (i++ > 3) { a = i; break; } } b = "loop"; }
    static int local(boolean c) { final int k; if (c) { k = 1; } else { k = 2; } int e; e = k + 1; Runnable r = () -> { System.out.println(k + e); }; r.run(); boolean d; if (c && (d = k > 0)) { return d ? 1 : 2; } return k; }
    static class Never { final int x; Never() { throw new IllegalStateException("never"); } }
    static class Inf { final int x; Inf(int[] n) { x = n[0]; for (;;) { if (n[0]++ > 2) return; } } }
    public String toString() { return a + b; }
    public static void main(String[] args) {
        System.out.println("" + new Finals(3) + new Finals(0) + new Finals(-2) + new Finals() + new Finals("7") + new Finals("x") + new Finals(true) + S + T[0] + local(true) + local(false) + new Inf(new int[1]).x);
        new Never();
    }
}
