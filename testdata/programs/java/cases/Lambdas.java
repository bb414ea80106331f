// Lambdas with a block are measured, expressions are not; which overload is
// meant does not change by it.
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;

public class Lambdas {
    static String which(Runnable r) { return "runnable"; }
    static <T> String which(Callable<T> c) { return "callable"; }
    static Function<Integer, Integer> twice = x -> { return 2 * x; };
    final Runnable own = () -> { System.out.println("own " + this.getClass().getSimpleName()); };
    static int calls;
    static IntBinaryOperator gcd; static { gcd = (a, b) -> { if (b == 0) return a; return gcd.applyAsInt(b, a % b); }; }
    static Supplier<Supplier<String>> nested() { return () -> { String s = "n"; return () -> { return s + calls++; }; }; }
    public static void main(String[] args) throws Exception {
        System.out.println(which(() -> { throw new IllegalStateException(); }) + which(() -> { while (true); }) + which(() -> { })
            + which(() -> { return 1; }) + which(() -> { calls++; }) + which(() -> { for (;;) { if (calls > 0) return null; } }));
        System.out.println(twice.andThen(x -> x + 1).apply(4) + nested().get().get() + gcd.applyAsInt(12, 18));
        new Lambdas().own.run();
        BiFunction<String, Integer, String> f = (final var a, @Deprecated var b) -> { return a + b; };
        System.out.println(f.apply("a", 1) + ((Function<int[], Integer>) (int[] a) -> { return a.length; }).apply(new int[3]));
        Runnable r = () -> {
            Object o = null;
            o.hashCode();
        };
        try { r.run(); } catch (NullPointerException e) { e.printStackTrace(); }
        Callable<Void> c = () -> {
            throw new Exception("checked");
        };
        c.call();
    }
}
