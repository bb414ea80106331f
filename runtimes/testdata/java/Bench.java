/** Nanoseconds, after the compiler has seen it all: name value, one a line. */
public class Bench {
    static int sink;

    static int plain(int n) {
        return n < 2 ? n : plain(n - 1) + plain(n - 2);
    }

    static int told(int n) {
        cg$.R.e(1); try {
        return n < 2 ? n : told(n - 1) + told(n - 2);
        } finally { cg$.R.x(1); }
    }

    static void empty(int n) { sink = n; }

    static native void nop(int n);

    interface Loop { void run(int n); }

    static double best(int n, Loop loop) {
        double best = 1e18;
        for (int i = 0; i < 400; i++) {
            long from = System.nanoTime();
            loop.run(n);
            best = Math.min(best, (double) (System.nanoTime() - from) / n);
        }
        return best;
    }

    public static void main(String[] args) {
        int n = 20000;
        System.out.println("empty " + best(n, k -> { for (int i = 0; i < k; i++) empty(i); }));
        System.out.println("nanoTime " + best(n, k -> { for (int i = 0; i < k; i++) sink = (int) System.nanoTime(); }));
        if (args.length > 0) {
            System.load(args[0]);
            System.out.println("native-nop " + best(n, k -> { for (int i = 0; i < k; i++) nop(i); }));
        }
        System.out.println("event " + best(n, k -> { for (int i = 0; i < k; i += 2) { cg$.R.e(2); cg$.R.x(2); } }));
        // Bursts of a fraction of a millisecond, which nothing interrupts; the compilers see fib(25) first.
        sink = plain(25) + told(25);
        double without = best(8361, k -> sink = plain(18)), with = best(8361, k -> sink = told(18));
        System.out.println("fib " + without);
        System.out.println("fib-pair " + (with - without));
    }
}
