// Switches of every form, with yield, blocks, and returns out of them.
public class Switches {
    static int old(int x) { switch (x) { case 0: return 10; case 1: case 2: x += 5; default: { x++; break; } case 3: throw new IllegalArgumentException("three"); } return x; }
    static String arrows(Object o) { return switch (o.toString()) { case "a", "b" -> "ab"; case "c" -> { try { yield "c" + Integer.parseInt("x"); } catch (NumberFormatException e) { yield "bad"; } finally { System.out.print("."); } } default -> throw new IllegalStateException(o + "?"); }; }
    static int yields(int x) { int y = switch (x) { case 1: yield 1; case 2: { int z = x * 2; yield z; } default: yield switch (x + 1) { case 9 -> { yield 99; } default -> -1; }; }; return y; }
    static void statement(int x) { switch (x) { case 1 -> System.out.println("one"); case 2 -> { if (x > 1) return; System.out.println("not"); } default -> { } } System.out.println("end"); }
    static int yield(int yield) { int var = yield, record = 1, sealed = 2, permits = 3, when = 4, open = 5, module = 6; return var + record + sealed + permits + when + open + module; }
    static boolean complete(int x) { switch (x) { default: return true; } }
    static int loop() { int n = 0; outer: while (true) { switch (n++) { case 3: break outer; default: continue outer; } } return n; }
    public static void main(String[] args) {
        System.out.println(old(0) + old(1) + old(7) + arrows("a") + arrows('c') + yields(1) + yields(2) + yields(8) + yields(3) + Switches.yield(1) + complete(1) + loop());
        statement(1); statement(2); statement(3);
        try { old(3); } catch (IllegalArgumentException e) { e.printStackTrace(); }
        arrows(1);
    }
}
