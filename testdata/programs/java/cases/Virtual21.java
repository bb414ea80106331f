// needs 21
// Virtual threads: each enters and leaves its methods on its own.
import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicInteger;

public class Virtual21 {
    static final AtomicInteger sum = new AtomicInteger();
    static void work(int i) throws InterruptedException { if (i % 3 == 0) Thread.sleep(1); deeper(i); }
    static void deeper(int i) { Thread.yield(); sum.addAndGet(i); }
    public static void main(String[] args) throws Exception {
        var all = new ArrayList<Thread>();
        for (int i = 0; i < 200; i++) { int n = i; all.add(Thread.ofVirtual().start(() -> { try { work(n); } catch (InterruptedException e) { throw new AssertionError(e); } })); }
        for (var t : all) t.join();
        System.out.println(sum);
    }
}
