// unbalanced: a checkpoint itself may find no room on the stack
// A stack that overflows is handled where the program does so.
public class Overflow {
    static int depth;
    static int down(int n) { depth++; return down(n + 1) + 1; }
    public static void main(String[] args) {
        try { down(0); } catch (StackOverflowError e) { System.out.println(depth > 500 ? "overflow" : "too early"); }
        System.out.println("goes on");
    }
}
