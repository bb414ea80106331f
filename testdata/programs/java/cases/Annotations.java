// Annotations everywhere, varargs, receiver parameters, dimensions behind
// names, odd arrays.
import java.lang.annotation.*;
import java.util.*;

@Annotations.Mark(value = 1, text = "}{", types = {int.class, String[].class})
public @SuppressWarnings({"unused", "x"}) class Annotations {
    @Retention(RetentionPolicy.RUNTIME) @interface Mark { int value() default 0; String text() default "{"; Class<?>[] types() default {}; Sub[] subs() default {@Sub}; }
    @interface Sub { }
    @Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER}) @Retention(RetentionPolicy.RUNTIME) @interface Use { }
    @Mark private static @Use int @Use [] @Use [] grid(@Mark(2) final int n, @Use String @Use ... more) @Use [] throws @Use RuntimeException { return new int @Use [n] @Use [more.length] []; }
    <@Use T extends @Use Object> @Mark T self(@Use Annotations this, T t) { return (@Use T) t; }
    @Deprecated() @Mark Annotations(@Mark int... x) { @Mark @SuppressWarnings("y") final int y = x.length; for (@Mark int z : x) { System.out.print(z); } try { throw new Exception(); } catch (@Mark final Exception | @Use Error e) { System.out.println(y); } }
    class Inner { Inner(Annotations Annotations.this) { } int f(@Use Annotations. @Use Inner this) { return 1; } }
    static int dims(int a[], String[]... b)[] { return new int[] {a.length, b.length}; }
    public static void main(String... args) {
        System.out.println(grid(2, "a", "b").length + new Annotations(1, 2).self("s") + new Annotations().new Inner().f() + Arrays.toString(dims(new int[] {1}, args)));
        System.out.println(Annotations.class.getAnnotation(Mark.class).text() + ((@Use Object) "cast") + List.<@Use String>of());
    }
}
