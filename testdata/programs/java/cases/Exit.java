// unbalanced: the program ends inside of its methods
// System.exit with frames open, with a shutdown hook.
public class Exit {
    static int deep(int n) { if (n == 0) { System.exit(3); } try { return deep(n - 1); } finally { System.out.println("not reached"); } }
    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { System.out.println("hook"); }));
        deep(3);
    }
}
