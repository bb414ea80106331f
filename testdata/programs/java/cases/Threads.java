// Synchronized methods, threads that wait for each other, daemons, and
// exceptions that end a thread.
public class Threads {
    private int turn; private final StringBuilder log = new StringBuilder();
    synchronized void step(int me) throws InterruptedException { while (turn % 2 != me) wait(); log.append(me); turn++; notifyAll(); }
    static synchronized int next() { return ++count; } static int count;
    synchronized native void unused();
    public static void main(String[] args) throws Exception {
        Threads t = new Threads();
        Thread[] all = new Thread[2];
        for (int i = 0; i < 2; i++) { int me = i; all[i] = new Thread(() -> { try { for (int k = 0; k < 5; k++) { t.step(me); next(); } } catch (InterruptedException e) { } }); all[i].start(); }
        for (Thread x : all) x.join();
        System.out.println(t.log + " " + count);
        Thread bad = new Thread(() -> {
            throw new IllegalStateException("ends the thread");
        }, "bad");
        bad.start(); bad.join();
        Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> { System.out.println("handled " + e.getMessage()); e.printStackTrace(); });
        t.unused();
    }
}
