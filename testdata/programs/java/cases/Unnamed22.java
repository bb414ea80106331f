// needs 22
// Unnamed variables and patterns.
import java.util.List;

public class Unnamed22 {
    record P(int x, int y) {}
    static int f(Object o) { return switch (o) { case P(int x, _) when x > 1 -> { yield x; } case P _ -> 0; default -> { try { yield Integer.parseInt("x"); } catch (NumberFormatException _) { yield -1; } } }; }
    public static void main(String[] args) {
        int n = 0; for (var _ : List.of(1, 2)) { n++; }
        java.util.function.BiFunction<Integer, Integer, Integer> g = (a, _) -> { return a; };
        System.out.println(f(new P(2, 3)) + f(new P(1, 3)) + f("") + n + g.apply(5, 6));
    }
}
