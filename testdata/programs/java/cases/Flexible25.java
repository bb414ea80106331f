// needs 25
// Statements before the call of another constructor (JEP 513) and imports of
// modules (JEP 511): what is behind the call is measured.
import module java.base;

public class Flexible25 {
    static class Base { final int n; Base(int n) { this.n = n; about(); } void about() { System.out.println("base " + n); } class Inner { Inner(int k) { System.out.println("inner " + k); } } }
    static class A extends Base {
        final String s; int later;
        A(int n) { if (n < 0) throw new IllegalArgumentException("n = " + n); int m = n * 2; s = "set"; super(m); later = m + n; }
        A(String t) {
            Supplier<Integer> g = () -> { return t.length(); };
            // super(1);
            this(g.get()); System.out.println("this " + later);
        }
        A(List<Integer> l) { this(l.get(0)); }
        void about() { System.out.println("a " + s); }
    }
    static class O extends Base.Inner { O(Base b) { var c = b; c . super(3) /* } */ ; System.out.println("o"); } }
    public static void main(String[] args) {
        System.out.println(new A(3).later + new A("four").s + new A(List.of(7)).n); new O(new Base(1));
        new A(-1);
    }
}
