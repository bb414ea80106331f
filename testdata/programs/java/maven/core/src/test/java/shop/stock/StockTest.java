package shop.stock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StockTest {
    private Stock stock;

    @BeforeEach
    void fill() {
        stock = new Stock();
        stock.add("nut", 3);
    }

    @Test
    void counts() {
        stock.add("nut", 4);
        assertEquals(7, stock.count("nut"));
    }

    @Test
    void refuses() {
        StackTraceElement at = assertThrows(IllegalArgumentException.class, () -> stock.add("nut", -1)).getStackTrace()[0];
        assertEquals("shop.stock.Stock.add(Stock.java:12)", at.toString());
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 21, 22})
    void orders(int n) {
        assertTrue(Stock.orders(n) > 6000);
    }

    @Test
    @Disabled("not yet")
    void later() {
    }

    @Nested
    class Empty {
        @Test
        void countsNothing() {
            assertEquals(0, stock.count("bolt"));
        }
    }
}
