package shop.stock;

import java.util.HashMap;
import java.util.Map;

/** What is in the warehouse. */
public class Stock {
    private final Map<String, Integer> pieces = new HashMap<>();

    public void add(String name, int n) {
        if (n < 0)
            throw new IllegalArgumentException("a negative number: " + n);
        pieces.merge(name, n, Integer::sum);
    }

    public int count(String name) {
        return pieces.getOrDefault(name, 0);
    }

    /** How many orders there are for a number of pieces: slowly. */
    public static long orders(int n) {
        return n < 2 ? n : orders(n - 1) + orders(n - 2);
    }
}
