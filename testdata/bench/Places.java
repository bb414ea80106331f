// Prints the least of what a turn of a loop takes in 60 rounds, in nanoseconds of the thread's processor time. A turn comes to
// four lines, and in every second to a block.
public class Places {
    static double work(double x, int n) {
        for (int i = 0; i < n; i++) {
            x = x * 0.99 + 1.0;
            if ((i & 1) == 1)
                x = x * 0.98 + 2.0;
            x = x * 0.97 + 3.0;
        }
        return x;
    }

    public static void main(String[] args) {
        double least = 1e9, x = args.length;
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        for (int round = 0; round < 60; round++) {
            long begin = threads.getCurrentThreadCpuTime();
            x = work(x, 100_000);
            least = Math.min(least, (threads.getCurrentThreadCpuTime() - begin) / 1e5);
        }
        System.out.printf("%.2f%n", least);
        if (x < 0)
            System.out.println(x);
    }
}
