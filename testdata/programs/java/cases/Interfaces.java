// Default, static and private methods of interfaces; those without a body
// stay without.
public class Interfaces {
    interface Named { String name(); default String hello() { return "hello " + name() + mark(); } private String mark() { return "!" + count(); } private static int count() { return 1; } }
    interface Loud extends Named { @Override default String hello() { return Named.super.hello().toUpperCase(); } static Loud of(String s) { return () -> s; } }
    interface Both extends Named, Loud { default String hello() { return Loud.super.hello() + "?"; } strictfp default double half() { return .5; } }
    @FunctionalInterface interface Tri<A, B, C, R> { R apply(A a, B b, C c); default <V> Tri<A, B, C, V> then(java.util.function.Function<? super R, ? extends V> f) { return (a, b, c) -> { return f.apply(apply(a, b, c)); }; } }
    static abstract class Half implements Both { public abstract String name(); abstract int size(); int twice() { return 2 * size(); } }
    @interface Mark { int value() default 1; String[] names() default {}; class Inside { static int f() { return 5; } } int K = Inside.f(); }
    public static void main(String[] args) {
        Both b = () -> "b";
        System.out.println(b.hello() + b.half() + Loud.of("x").hello());
        Tri<Integer, Integer, Integer, Integer> t = (x, y, z) -> x + y * z;
        System.out.println(t.then(n -> "<" + n + ">").apply(1, 2, 3));
        System.out.println(new Half() { public String name() { return "half"; } int size() { return 4; } }.twice() + Mark.K);
    }
}
