// Type parameters, bounds, wildcards, casts and shifts: every "<" and ">".
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

public class Generics<T extends Comparable<? super T> & java.io.Serializable, U extends List<? extends Map<String, ? super T[]>>> {
    T best; <V extends T> Generics(V v, U u) { best = v; }
    <V extends T, W extends Exception> T max(V a, Class<? extends W> c) throws W { if (a == null) { throw make(c); } return best.compareTo(a) > 0 ? best : a; }
    @SuppressWarnings("unchecked") static <X extends Exception> X make(Class<? extends X> c) { try { return c.getDeclaredConstructor().newInstance(); } catch (ReflectiveOperationException e) { throw new RuntimeException(e); } }
    static <A, B> List<B> map(List<? extends A> in, Function<? super A, ? extends B> f) { List<B> out = new ArrayList<>(); for (A a : in) out.add(f.apply(a)); return out; }
    static int bits(int i, int j, List<Integer> l) { boolean b = i < j && i > l.get(0); return b ? i >> 1 : (i >>> 2 << j) ; }
    static <X> X[] array(X... xs) { return xs; }
    static abstract class Node<N extends Node<N>> { abstract N self(); N add() { return self(); } }
    static class Leaf extends Node<Leaf> { Leaf self() { return this; } }
    public static void main(String[] args) throws Exception {
        var g = new <String>Generics<String, ArrayList<Map<String, Object>>>("b", new ArrayList<>());
        System.out.println(g.<String, RuntimeException>max("c", IllegalStateException.class) + bits(9, 3, List.of(1)) + bits(2, 3, List.of(1)));
        System.out.println(Generics.<Integer, String>map(List.of(1, 2), x -> { return "n" + (Integer) x; }) + "" + array("a", "b").length + new Leaf().add().self().getClass());
        Map<String, Map<Integer, List<int[]>>> m = new HashMap<>(); m.computeIfAbsent("k", k -> { return new HashMap<>(); }).put(1, Collections.emptyList());
        System.out.println(m);
        try { g.max(null, java.io.IOException.class); } catch (java.io.IOException e) { e.printStackTrace(); }
    }
}
