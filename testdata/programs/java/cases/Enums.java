// Enums with constructors, bodies of constants, abstract methods and static
// initialisers, and switches over them.
import java.util.EnumMap;
import java.util.Map;

public class Enums {
    enum Plain { A, B, }
    enum Op implements java.util.function.IntBinaryOperator {
        PLUS("+") { @Override public int applyAsInt(int a, int b) { return a + b; } int seen; { seen++; } },
        TIMES("*") {
            int calls;
            public int applyAsInt(int a, int b) { calls++; return a * b; }
            @Override String about() { return super.about() + calls; }
        },
        LAZY(() -> { return "lazy"; }) { public int applyAsInt(int a, int b) { return 0; } };
        private static final Map<String, Op> BY = new java.util.TreeMap<>();
        static { for (Op o : values()) { BY.put(o.sign, o); } }
        final String sign;
        Op(String sign) { this.sign = sign; }
        Op(java.util.function.Supplier<String> s) { this(s.get()); }
        String about() { return name() + getDeclaringClass().getSimpleName(); }
    }
    enum Single { INSTANCE; int n; int next() { return ++n; } }
    static String kind(Plain p) {
        switch (p) { case A: return "a"; case B: break; default: throw new AssertionError(); }
        return switch (p) { case A -> { yield "A"; } case B -> "b"; };
    }
    public static void main(String[] args) {
        for (Op o : Op.values()) System.out.println(o + " " + o.applyAsInt(3, 4) + o.about() + o.getClass().getName());
        System.out.println(Op.BY + kind(Plain.A) + kind(Plain.valueOf("B")) + Single.INSTANCE.next() + Single.INSTANCE.next());
        System.out.println(new EnumMap<>(Map.of(Plain.A, 1)));
        Plain.valueOf("C");
    }
}
