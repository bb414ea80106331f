// Canonical, compact and other constructors of records, and their methods.
import java.util.List;
import java.util.Objects;

public class Records {
    record Empty() {}
    record Point(int x, int y) {
        static final Point ORIGIN; static { ORIGIN = new Point(0, 0); }
        Point { if (x < 0) throw new IllegalArgumentException("x = " + x); y = Math.max(y, 0); }
        Point(int both) { this(both, both); }
        double length() { return Math.sqrt(x * x + y * y); }
        static Point of(String s) { var p = s.split(","); return new Point(Integer.parseInt(p[0]), Integer.parseInt(p[1])); }
    }
    record Pair<A extends Comparable<A>, B>(A a, B... b) implements Comparable<Pair<A, B>> {
        @SafeVarargs public Pair(A a, B... b) { this.a = a; this.b = b.clone(); }
        public A a() { return Objects.requireNonNull(a); }
        @Override public int compareTo(Pair<A, B> o) { return a.compareTo(o.a); }
    }
    record Nothing(int x) { Nothing {} }
    public static void main(String[] args) {
        record Local(String s) { Local { s = s.trim(); } String twice() { return s + s; } }
        System.out.println(new Empty() + " " + new Point(3, -1) + new Point(4).length() + Point.of("3,4").length() + Point.ORIGIN);
        System.out.println(new Local(" a ").twice() + new Nothing(1).equals(new Nothing(1)));
        System.out.println(new Pair<>("a", 1, 2).compareTo(new Pair<>("b", 1)) + " " + List.of(new Pair<>(1)).get(0).b().length);
        for (var c : Point.class.getRecordComponents()) System.out.println(c);
        new Point(-1, 0);
    }
}
