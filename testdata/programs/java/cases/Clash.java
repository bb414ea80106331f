// A file that has names of its own that begin as those of the checkpoints do.
public class Clash {
    static class cg$ { static class R { static void e(int x) { throw new AssertionError(); } } }
    int cg = 1, R = 2;
    static int f(int cg$) { int e = cg$; { String R = "x"; } return e; }
    <cg$ extends String> int g(cg$ x) { return x.length() + cg + R; }
    public static void main(String[] args) { Clash cg$ = new Clash(); System.out.println(f(1) + cg$.g("abc")); throw new RuntimeException("end"); }
}
