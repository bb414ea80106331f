package cg$;

/**
 * What instrumented code calls: e(site) when a call of the site begins, x(site)
 * when it ends.
 *
 * The package is on the boot class path, so that every class loader finds it.
 * It uses java.base alone, prints nothing, and throws nothing but what entering
 * a method may throw: a StackOverflowError where the stack is at its end. Traces do not
 * show its frames: the virtual machine leaves out methods of its boot class path that
 * are marked so, and the error is the method's that contains the checkpoint.
 */
public final class R {
    static final int OFF = 0, NATIVE = 1, PURE = 2;
    static final int ENTER = 0, EXIT = 1, SUSPEND = 2, RESUME = 3;

    /* Constants to the compiler: what does not apply costs nothing. */
    static final int MODE = Startup.begin();
    /** The class of threads that move between the kernel's, null before 21. */
    private static final Class<?> VIRTUAL = MODE == OFF ? null : Startup.virtual();

    private R() {}

    @jdk.internal.vm.annotation.Hidden
    public static void e(int site) {
        try {
            if (MODE == NATIVE && Counts.ON && Counts.enter(site))
                return;
            if (VIRTUAL != null && Thread.currentThread().getClass() == VIRTUAL)
                VirtualThread.enter(site);
            else if (MODE == NATIVE) {
                switch (enter(site)) {
                case 0:
                    break;
                case 2:
                    Counts.begin();
                    break;
                default:
                    event(ENTER, site);
                }
            } else if (MODE == PURE)
                PureWriter.enter(site);
        } catch (StackOverflowError e) {
            throw new StackOverflowError(); // whose trace begins with the program's method
        }
    }

    @jdk.internal.vm.annotation.Hidden
    public static void x(int site) {
        try {
            if (MODE == NATIVE && Counts.ON && Counts.exit(site))
                return;
            if (VIRTUAL != null && Thread.currentThread().getClass() == VIRTUAL)
                VirtualThread.exit(site);
            else if (MODE == NATIVE) {
                if (exit(site) != 0)
                    event(EXIT, site);
            } else if (MODE == PURE)
                PureWriter.exit(site);
        } catch (StackOverflowError e) {
            throw new StackOverflowError();
        }
    }

    // runtimes/native/java.c says what each does.
    static native boolean lay(Module base, String name, long[] at);
    static native void know(long tid);
    static native int open(byte[] path, int length);
    @jdk.internal.vm.annotation.Hidden
    private static native int enter(int site);
    @jdk.internal.vm.annotation.Hidden
    private static native int exit(int site);
    @jdk.internal.vm.annotation.Hidden
    private static native void event(int kind, int site);
    @jdk.internal.vm.annotation.Hidden
    static native boolean on(long id, int kind, int site);
    @jdk.internal.vm.annotation.Hidden
    static native void show(long id, int[] sites, int depth);
}
