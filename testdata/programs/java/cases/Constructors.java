// The call of another constructor stays the first statement, wherever it
// stands and however it is written; what is behind it is measured.
import java.util.function.IntSupplier;

public class Constructors {
    static class Base {
        final String how;
        Base() { how = "none"; }
        <T> Base(T x) { how = "generic " + x; }
        Base(IntSupplier s) { this.how = "supplier " + s.getAsInt(); }
        class Inner { Inner(int x) { System.out.println("inner " + x + " of " + how); } }
    }
    static class A extends Base {
        int x; {x=3;}
        A() {}
        A(int x) { /* super(); */ // this();
            /* a */ super /* b */ (
                x // c
            ) /* d */ ; this.x += x;
        }
        A(String s) {
            <String>super(s); }
        A(char c) { super(() -> { int n = c; return n; }); System.out.println("c" + x); }
        A(long l) { <Integer>this((int) l); }
        <U> A(U u, int... more) { this(more.length); if (u == null) return; System.out.println(u); }
        A(double d) {this(new Object() { int v() { return (int) d; } }.v());}
        A(boolean fail) {
            super();
            if (fail) throw new IllegalStateException("as asked");
        }
    }
    static class Outside extends Base.Inner {
        Outside(Base b) { b
            . super(7); System.out.println("outside"); }
        Outside() {
            new A().super(8);
        }
    }
    private Constructors() { throw new AssertionError(); }

    public static void main(String[] args) {
        System.out.println(new A().x + new A(4).how + new A(4).x + new A("s").how);
        System.out.println(new A('c').how + new A(5L).x + new A(2.5).x);
        new A("u", 1, 2); new A(null, 1);
        new Outside(new A()); new Outside();
        try { new A(true); } catch (IllegalStateException e) { e.printStackTrace(); }
        try { new Constructors(); } catch (AssertionError e) { e.printStackTrace(); }
    }
}
