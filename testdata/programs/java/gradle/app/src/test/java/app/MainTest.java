package app;

import static org.junit.Assert.assertEquals;

import lib.Numbers;
import org.junit.Test;

public class MainTest {
    @Test
    public void fib() {
        assertEquals(55, Numbers.fib(10));
    }
}
