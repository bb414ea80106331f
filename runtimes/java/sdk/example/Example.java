import codegreen.Session;
import codegreen.Task;

/** Measures parts of a program: one after the other, inside each other, and side by side. */
public class Example {
    static long squares(int n) {
        long sum = 0;
        for (long i = 0; i < n; i++) sum += i * i % 7;
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        try (Session s = Session.start("example")) {
            try (Task all = s.task("all")) {
                try (Task load = s.task("load")) {
                    System.out.println(squares(20_000_000));
                }
                System.out.println(s.task("train", () -> squares(10_000_000)));
            }
            Runnable both = () -> s.task(Thread.currentThread().getName(), () -> {
                squares(10_000_000);
            });
            Thread left = new Thread(both, "left"), right = new Thread(both, "right");
            left.start();
            right.start();
            left.join();
            right.join();

            for (Task t : s.tasks()) System.out.printf("%s: %.3f s, %.3f J%n", t.name(), t.durationS(), t.energyJ());
            System.out.println("written to " + s.outputFile());
        }
    }
}
