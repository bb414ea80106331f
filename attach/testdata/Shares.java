/** Two methods that share a loop, one with three times the work of the other, for some seconds or until its input ends. */
public class Shares {
    static volatile long sink;

    static long spin(int n, int by) {
        long sum = 0;
        for (int i = 0; i < n; i++)
            sum += (long) i * i ^ by;
        return sum;
    }

    static void more() {
        for (int i = 0; i < 30; i++)
            sink += spin(20_000, i);
    }

    static void less() {
        for (int i = 0; i < 10; i++)
            sink += spin(20_000, i);
    }

    static void round() {
        more();
        less();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3000; i++) // until they are compiled
            round();
        System.out.println("ready");
        while (System.in.available() == 0)
            round();
    }
}
