// Inner, local and anonymous classes keep their names, what they capture, and
// what reflection and serialization see of them.
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.util.Arrays;
import java.util.Comparator;

public class InnerClasses implements Serializable {
    private int n = 1;
    class Inner { int n = 2; class Deep { int n = 3; String all() { return InnerClasses.this.n + "" + Inner.this.n + this.n; } } }
    static class Nested { private static int secret() { return 42; } }
    Object field = new Object() { int k = 7; { k++; } @Override public String toString() { return "field " + k + n; } };
    Comparator<String> order(final int sign) {
        int twice = 2 * sign;
        class Local implements Comparator<String> {
            final int s; Local(int s) { this.s = s; }
            public int compare(String a, String b) { return new Comparator<String>() { public int compare(String a, String b) { return Integer.signum(a.compareTo(b)) * s * twice; } }.compare(a, b); }
        }
        System.out.println(Local.class.getName());
        return new Local(sign);
    }
    void run() {
        for (int i = 0; i < 2; i++) { int j = i; class Local { int get() { return j + n; } } System.out.println(new Local().get() + Local.class.getName()); }
        Runnable r = () -> { class InLambda { int get() { return n; } } System.out.println(new InLambda().get() + new Object() { int f() { return 9; } }.f()); };
        r.run();
    }
    public static void main(String[] args) {
        InnerClasses o = new InnerClasses();
        System.out.println(o.new Inner().new Deep().all() + Nested.secret() + o.field + o.field.getClass().getName());
        String[] s = {"b", "c", "a"};
        Arrays.sort(s, o.order(-1)); System.out.println(Arrays.toString(s));
        o.run();
        System.out.println(ObjectStreamClass.lookup(InnerClasses.class).getSerialVersionUID());
        Arrays.stream(InnerClasses.class.getDeclaredMethods()).filter(m -> !m.isSynthetic()).map(m -> m.toString()).sorted().forEach(System.out::println);
        Arrays.stream(InnerClasses.class.getDeclaredFields()).map(f -> f.toString()).sorted().forEach(System.out::println);
        System.out.println(new Throwable().getStackTrace()[0]);
    }
}
