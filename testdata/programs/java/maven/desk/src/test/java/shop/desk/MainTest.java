package shop.desk;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class MainTest {
    @Test
    public void runs() {
        assertEquals(3, Main.NAME.length());
        Main.main(new String[] {"bolt"});
    }
}
