// needs 21
// Patterns in switches: records taken apart, guards, null, qualified enum
// constants.
import java.util.List;

public class Patterns21 {
    sealed interface Expr {} record Num(int n) implements Expr {} record Add(Expr a, Expr b) implements Expr {} record Neg(Expr e) implements Expr {}
    static int eval(Expr e) { return switch (e) { case Num(int n) -> n; case Add(Num(var a), Num(var b)) when a == b -> { yield 2 * a; } case Add(Expr a, Expr b) -> eval(a) + eval(b); case Neg(var x) -> -eval(x); }; }
    static String simple(Object o) { return switch (o) { case List<?> l when !l.isEmpty() -> { if (l.get(0) instanceof Num(int n)) { yield "num" + n; } yield "list"; } case null, default -> "d"; }; }
    public static void main(String[] args) {
        System.out.println(eval(new Add(new Neg(new Num(3)), new Add(new Num(2), new Num(2)))));
        System.out.println(kindOf(null) + kindOf("") + kindOf("s") + kindOf(11) + simple(List.of(new Num(4))) + simple(null));
        Object o = new Add(null, new Num(1));
        eval((Expr) o);
    }
    static String kindOf(Object o) { return switch (o) { case null -> "null"; case String s when s.isEmpty() -> "empty"; case String s -> s; case Integer i when i > 10 && i < 20 -> { yield "teen"; } default -> "other"; }; }
}
