// What a small program of some length does: a parser, a queue, streams.
import java.util.*;
import java.util.stream.*;

public class Tasks {
    static class Parser {
        private final String text; private int at;
        Parser(String text) { this.text = text; }
        int sum() { int v = product(); while (at < text.length() && (peek() == '+' || peek() == '-')) { char c = text.charAt(at++); int w = product(); v = c == '+' ? v + w : v - w; } return v; }
        int product() { int v = atom(); while (at < text.length() && peek() == '*') { at++; v *= atom(); } return v; }
        int atom() { if (peek() == '(') { at++; int v = sum(); if (peek() != ')') throw new IllegalStateException("at " + at); at++; return v; } int s = at; while (at < text.length() && Character.isDigit(peek())) at++; return Integer.parseInt(text.substring(s, at)); }
        char peek() { return at < text.length() ? text.charAt(at) : 0; }
    }
    static <K, V extends Comparable<V>> List<K> top(Map<K, V> m, int n) { return m.entrySet().stream().sorted(Map.Entry.<K, V>comparingByValue().reversed()).limit(n).map(Map.Entry::getKey).collect(Collectors.toList()); }
    static Iterable<Integer> primes(int max) { return () -> new Iterator<>() { int n = 2; public boolean hasNext() { while (n < max && IntStream.range(2, n).anyMatch(d -> { return n % d == 0; })) n++; return n < max; } public Integer next() { return n++; } }; }
    public static void main(String[] args) {
        System.out.println(new Parser("2*(3+4)-5*2").sum());
        System.out.println(top(new TreeMap<>(Map.of("a", 1, "b", 3, "c", 2)), 2));
        for (int p : primes(20)) System.out.print(p + " ");
        System.out.println(Stream.iterate(1, x -> { return x * 2; }).limit(8).map(x -> { if (x > 10) return "big"; return "small"; }).collect(Collectors.groupingBy(s -> s)));
        new Parser("(1").sum();
    }
}
