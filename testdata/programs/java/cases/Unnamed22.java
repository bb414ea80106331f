// needs 22
// Unnamed variables and patterns.
import java.util.List;

public class Unnamed22 {
    record P(int x, int y) {}
    static int f(Object o) { return switch (o) { case P(int x, _) when x > 1 -> { yield x; } case P _ -> 0; default -> { try { yield Integer.parseInt("x"); } catch (NumberFormatException _) { yield -1; } } }; }
    sealed interface S {} record A<T>(T a, int b) implements S {} record B(int x) implements S {} enum C implements S { ONE }
    static int g(S s) { return switch (s) { case A<?>(String _, int _), B _ -> { Runnable r = () -> { System.out.println("a or b"); }; r.run(); yield 1; } case A<?>(_, var b) when b > 1 -> b; case A<?> _, C _ -> -1; }; }
    public static void main(String[] args) {
        int n = 0; for (var _ : List.of(1, 2)) { n++; }
        java.util.function.BiFunction<Integer, Integer, Integer> g = (a, _) -> { return a; };
        System.out.println(f(new P(2, 3)) + f(new P(1, 3)) + f("") + n + g.apply(5, 6));
        System.out.println(g(new A<>("", 1)) + g(new B(1)) + g(new A<>(1, 4)) + g(C.ONE));
    }
}
