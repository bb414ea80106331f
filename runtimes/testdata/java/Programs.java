import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Instrumented by hand: each method stands for a program of the tests. */
public class Programs {
    static int fib(int n) {
        cg$.R.e(2); try {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
        } finally { cg$.R.x(2); }
    }

    static int small(int n) {
        cg$.R.e(3); try {
        return n + 1;
        } finally { cg$.R.x(3); }
    }

    static void raise(int depth) {
        cg$.R.e(4); try {
        if (depth == 0)
            throw new IllegalStateException("raised");
        raise(depth - 1);
        } finally { cg$.R.x(4); }
    }

    static int sink;

    static int dive(int depth) {
        cg$.R.e(5); try {
        sink = depth;
        return dive(depth + 1) + 1;
        } finally { cg$.R.x(5); }
    }

    static void counts() {
        System.out.println(fib(15));
        try {
            raise(10);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage() + " " + e.getStackTrace()[0]);
        }
        for (int i = 0; i < 1000; i++)
            sink = small(i);
    }

    static void threads(int n) throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Thread t = new Thread(() -> fib(20));
            t.start();
            all.add(t);
        }
        for (Thread t : all)
            t.join();
    }

    static void shorts(int n) throws Exception {
        for (int i = 0; i < n; i++) {
            Thread t = new Thread(() -> fib(1));
            t.start();
            t.join();
        }
    }

    static void daemons() throws Exception {
        CountDownLatch running = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            Thread t = new Thread(() -> {
                running.countDown();
                while (true)
                    fib(5);
            });
            t.setDaemon(true);
            t.start();
        }
        running.await();
    }

    static void leave(boolean halt) {
        cg$.R.e(6); try {
        System.out.println("leaving");
        if (halt)
            Runtime.getRuntime().halt(7);
        System.exit(7);
        } finally { cg$.R.x(6); }
    }

    static void wait(int n) throws Exception {
        for (int i = 0; i < n; i++)
            sink = fib(1);
        System.out.println("ready");
        System.out.flush();
        Thread.sleep(600000);
    }

    static void overflow() {
        for (int i = 0; i < 5; i++) {
            try {
                dive(0);
            } catch (StackOverflowError e) {
                StackTraceElement top = e.getStackTrace()[0];
                System.out.println("overflow in " + top.getClassName() + "." + top.getMethodName());
            }
        }
        fib(1);
    }

    /** Overflows the stack from many depths, and calls a method after each. */
    static void overflows(int n) {
        for (int i = 0; i < n; i++) {
            try {
                deeper(i % 97, i);
            } catch (StackOverflowError e) {
                small(i);
            }
        }
    }

    /** Begins the dive with a stack of another length. */
    static int deeper(int depth, int i) {
        return depth == 0 ? dive(i) : deeper(depth - 1, i) + 1;
    }

    static void memory() {
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            try {
                while (true) {
                    fib(1);
                    all.add(new byte[1 << 20]);
                }
            } catch (OutOfMemoryError e) {
                all.clear();
                System.out.println("out of memory");
            }
        }
    }

    static void jvms(String[] command) throws Exception {
        List<Process> all = new ArrayList<>();
        for (int i = 0; i < 3; i++)
            all.add(new ProcessBuilder(command).inheritIO().start());
        for (Process p : all)
            System.out.println(p.waitFor());
    }

    static void loaders() throws Exception {
        URL[] here = {new File(System.getProperty("java.class.path")).toURI().toURL()};
        for (ClassLoader parent : new ClassLoader[] {null, ClassLoader.getPlatformClassLoader()})
            try (URLClassLoader loader = new URLClassLoader(here, parent)) {
                Method m = loader.loadClass("Programs").getDeclaredMethod("fib", int.class);
                m.setAccessible(true);
                System.out.println(m.invoke(null, 5));
            }
    }

    static int nap(int n) {
        cg$.R.e(7); try {
        LockSupport.parkNanos(100000);
        return n < 2 ? n : nap(n - 1) + nap(n - 2);
        } finally { cg$.R.x(7); }
    }

    /** By reflection: compiled for 17. */
    static void virtuals(int n) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < n; i++)
            all.add((Thread) start.invoke(null, (Runnable) () -> {
                nap(5);
                fib(5);
            }));
        for (Thread t : all)
            t.join();
    }

    /** Calls on virtual threads go to place 11 of their code, in which another call waits, and at their end to 12. */
    static void places(int n) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < n; i++)
            all.add((Thread) start.invoke(null, (Runnable) () -> {
                cg$.R.e(10); try {
                cg$.R.p(11);
                nap(5);
                cg$.R.p(12);
                } finally { cg$.R.x(10); }
            }));
        for (Thread t : all)
            t.join();
    }

    /**
     * Two virtual threads have one kernel thread, and begin while the list of the cleaner that the library's files
     * share is locked.
     */
    static void locked() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Object cleaner = Class.forName("jdk.internal.ref.CleanerFactory").getMethod("cleaner").invoke(null);
        java.lang.reflect.Field impl = cleaner.getClass().getDeclaredField("impl");
        impl.setAccessible(true);
        java.lang.reflect.Field list = impl.getType().getDeclaredField("activeList");
        list.setAccessible(true);
        Thread first;
        synchronized (list.get(impl.get(cleaner))) {
            first = (Thread) start.invoke(null, (Runnable) () -> fib(5));
            ((Thread) start.invoke(null, (Runnable) () -> fib(5))).join();
        }
        first.join();
    }

    /** An interrupt that comes before an event, and a permit, are still there after it. */
    static void kept() {
        Thread.currentThread().interrupt();
        fib(20);
        System.out.println(Thread.interrupted());
        LockSupport.unpark(Thread.currentThread());
        fib(20);
        LockSupport.park();
        System.out.println("permit");
    }

    static volatile Object garbage;

    static int churn(int n) {
        cg$.R.e(2); try {
        garbage = new byte[n * 10];
        return n < 2 ? n : churn(n - 1) + churn(n - 2);
        } finally { cg$.R.x(2); }
    }

    /** Collections while threads are in events at all times. */
    static void collections(int n) throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Thread t = new Thread(() -> churn(20));
            t.start();
            all.add(t);
        }
        for (int i = 0; i < 10; i++)
            System.gc();
        for (Thread t : all)
            t.join();
    }

    static volatile int calls;

    /** A collection while a thread waits in an event: the reader reads after it. */
    static void waiting() throws Exception {
        Thread t = new Thread(() -> {
            for (int i = 0; i < 30000; i++) {
                fib(1);
                calls = i;
            }
        });
        t.start();
        for (int was = -1; was < 0 || was != calls || calls == 0;) {
            was = calls;
            Thread.sleep(50);
        }
        long from = System.nanoTime();
        System.gc();
        System.out.println("collected " + (System.nanoTime() - from < 5000000000L));
        System.out.println("read");
        t.join();
    }

    /** Whether Java counts events, and not the library. */
    static void counting() throws Exception {
        java.lang.reflect.Field on = Class.forName("cg$.Counts").getDeclaredField("ON");
        on.setAccessible(true);
        System.out.println(on.getBoolean(null));
    }

    public static void main(String[] args) throws Exception {
        cg$.R.e(1); try {
        int n = args.length > 1 ? args[1].matches("[0-9]+") ? Integer.parseInt(args[1]) : 0 : 0;
        switch (args[0]) {
        case "counts": counts(); break;
        case "threads": threads(n); break;
        case "shorts": shorts(n); break;
        case "daemons": daemons(); break;
        case "exit": leave(false); break;
        case "halt": leave(true); break;
        case "wait": wait(n); break;
        case "overflow": overflow(); break;
        case "overflows": overflows(n); break;
        case "memory": memory(); break;
        case "jvms": jvms(java.util.Arrays.copyOfRange(args, 1, args.length)); break;
        case "loaders": loaders(); break;
        case "virtuals": virtuals(n); break;
        case "places": places(n); break;
        case "locked": locked(); break;
        case "kept": kept(); break;
        case "collections": collections(n); break;
        case "waiting": waiting(); break;
        case "counting": counting(); break;
        default: throw new IllegalArgumentException(args[0]);
        }
        } finally { cg$.R.x(1); }
    }
}
