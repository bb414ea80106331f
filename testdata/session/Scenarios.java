import codegreen.Request;
import codegreen.Session;
import codegreen.Task;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Programs that are measured in a way each: the first argument says which. OUT names the file. */
public class Scenarios {
    static void spin(int ms) {
        for (long until = System.nanoTime() + ms * 1_000_000L; System.nanoTime() < until; );
    }

    /** Uses a processor so long, whatever else runs. */
    static void use(int ms) {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        for (long until = bean.getCurrentThreadCpuTime() + ms * 1_000_000L; bean.getCurrentThreadCpuTime() < until; );
    }

    /** Says so and waits for a line. */
    static void ready() throws Exception {
        System.out.println("ready");
        for (int c; (c = System.in.read()) >= 0 && c != '\n'; );
    }

    static Session.Builder named() {
        String out = System.getenv("OUT");
        Session.Builder b = Session.named("scenario");
        return out == null || out.isEmpty() ? b : b.outputFile(Path.of(out));
    }

    static void told(String what, Runnable r) {
        try {
            r.run();
            System.out.println(what + ": fine");
        } catch (IllegalStateException | IllegalArgumentException e) {
            System.out.println(what + ": " + e.getMessage());
        }
    }

    static Thread thread(Runnable r) throws Exception {
        try { // of Java 21 and later
            Method m = Thread.class.getMethod("startVirtualThread", Runnable.class);
            return (Thread) m.invoke(null, r);
        } catch (NoSuchMethodException e) {
            Thread t = new Thread(r);
            t.start();
            return t;
        }
    }

    static void sleep(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "formula": {
                Session s = named().start();
                for (String name : new String[] {"=1+1", "-5", "a\u001b[2J\nb;@x", "\t+1"}) s.task(name).close();
                told("close", s::close);
                break;
            }
            case "requests": // without end, or so many
                for (int n = 0; args.length < 2 || n < Integer.parseInt(args[1]); n++) {
                    try (Request r = Request.annotate("GET /dear")) {
                        use(60);
                        r.close();
                    }
                    try (Request r = Request.annotate("GET /cheap")) {
                        use(20);
                    }
                }
                break;
            case "flood":
                Thread.currentThread().interrupt(); // which closes channels
                for (int i = 0; i < 50_000; i++) Request.annotate("GET /flood").close();
                System.out.println("dropped: " + Request.dropped());
                break;
            case "shares": {
                Session s = named().start();
                Task busy = s.task("busy");
                spin(400);
                busy.close();
                Task waits = s.task("waits");
                Thread.sleep(400);
                waits.close();
                System.out.println("shares: " + (busy.programEnergyJ() <= busy.energyJ()) + " " + Double.isNaN(waits.programEnergyJ()));
                s.close();
                break;
            }
            case "units": {
                try (Session s = named().start()) {
                    Task all = s.task("all");
                    try (Task t = s.task("generate")) {
                        spin(60);
                        t.count(300, "token");
                        t.count(100, "token");
                        t.count(2, "request");
                    }
                    all.count(3, "request");
                    told("none", () -> all.count(0, "token"));
                    told("not a number", () -> all.count(Double.NaN, "token"));
                    told("no word", () -> all.count(1, "a b"));
                    all.close();
                    System.out.println("counted: " + all.units());
                }
                break;
            }
            case "nested": {
                Session s = named().start();
                Task a = s.task("a"), b = s.task("b");
                System.out.println("gives: " + s.task("c", () -> {
                    spin(30);
                    return 42;
                }));
                told("b", b::close);
                s.startTask("d, \"quoted\"");
                told("d", () -> s.stopTask("d, \"quoted\""));
                told("a", a::close);
                told("again", a::close);
                System.out.println("energy: " + (a.energyJ() > 0) + " " + (a.energyJ() >= b.energyJ()) + " " + (a.durationS() >= b.durationS()));
                told("close", s::close);
                told("close", s::close);
                told("after", () -> s.task("after the end").close());
                break;
            }
            case "overlap": {
                try (Session s = named().start()) {
                    List<Thread> all = new ArrayList<>();
                    for (String name : List.of("one", "two", "three")) {
                        int wait = all.size() * 20;
                        Thread t = new Thread(() -> {
                            sleep(wait);
                            try (Task outer = s.task(name); Task inner = s.task("inside " + name)) {
                                spin(60);
                            }
                        });
                        all.add(t);
                        t.start();
                    }
                    for (Thread t : all) t.join();
                }
                break;
            }
            case "many": {
                try (Session s = named().recordTimeSeries(true).start()) {
                    List<Thread> all = new ArrayList<>();
                    for (int i = 0; i < 200; i++) {
                        all.add(thread(() -> {
                            for (int n = 0; n < 5; n++) {
                                try (Task outer = s.task("outer")) {
                                    sleep(1);
                                    s.task("inner", () -> sleep(1));
                                }
                            }
                        }));
                    }
                    for (Thread t : all) t.join();
                }
                break;
            }
            case "forgotten": {
                Session s = named().start();
                s.task("done").close();
                s.task("open");
                s.task("inside open");
                spin(20);
                System.exit(3);
                break;
            }
            case "mismatch": {
                try (Session s = named().start()) {
                    Task outer = s.task("outer"), inner = s.task("inner");
                    told("outer", outer::close);
                    told("by name", () -> s.stopTask("outer"));
                    Thread other = new Thread(() -> told("elsewhere", inner::close));
                    other.start();
                    other.join();
                    inner.close();
                    told("outer", s::stopTask);
                    told("nothing", () -> s.stopTask("outer"));
                    told("nobody", s::stopTask);
                }
                break;
            }
            case "interrupted": {
                Thread.currentThread().interrupt();
                try (Session s = named().start()) {
                    s.task("t", () -> spin(30));
                }
                System.out.println("interrupted: " + Thread.interrupted());
                break;
            }
            case "closing": {
                Session s = named().start();
                for (int i = 0; i < 3000; i++) s.task("t").close();
                ready();
                s.close();
                Thread.sleep(1_000_000);
                break;
            }
            case "unwind": {
                try (Session s = named().start()) {
                    told("outer", () -> s.task("outer", (Runnable) () -> {
                        s.task("inner");
                        throw new IllegalStateException("out");
                    }));
                }
                break;
            }
            case "signal": {
                Session s = named().start();
                s.task("waiting");
                ready();
                break;
            }
            case "sidecar": {
                try (Session s = named().start()) {
                    Task before = s.task("before", () -> spin(50));
                    System.out.println("energy: " + (before.energyJ() > 0));
                    try (Task t = s.task("killed")) {
                        ready();
                        spin(30);
                    }
                }
                break;
            }
            case "gauges": {
                Session.Builder b = named().gauges("cpu-util", "cpu-clock", "hwmon", "nvml-temp").gaugeInterval(Duration.ofMillis(100)).recordTimeSeries(true);
                try (Session s = b.start()) {
                    s.task("long", () -> sleep(700));
                    s.task("short").close();
                }
                told("no name", () -> named().gauges(""));
                told("period", () -> named().gaugeInterval(Duration.ofMillis(99)));
                break;
            }
            case "series": {
                try (Session s = named().recordTimeSeries(true).sampleInterval(Duration.ofMillis(2)).bufferSamples(1000).start()) {
                    Task t = s.task("long");
                    sleep(700);
                    s.task("inner", () -> sleep(100));
                    t.close();
                    s.task("short").close();
                    System.out.println("noise: " + (t.noise() != null));
                    if (System.getenv("PLOT") != null) System.out.println("plot: " + s.exportPlot(Path.of(System.getenv("PLOT"))));
                }
                break;
            }
            case "second": {
                Session s = named().start();
                told("second", () -> Session.start("other"));
                s.close();
                told("format", () -> named().outputFormat("xml"));
                told("buffer", () -> named().bufferSamples(3));
                told("interval", () -> named().sampleInterval(Duration.ofNanos(1)));
                told("after", () -> named().start().close());
                break;
            }
            case "bench": {
                try (Session s = named().saveToFile(false).warnOnConcurrent(false).start()) {
                    long best = Long.MAX_VALUE;
                    for (int round = 0; round < 30; round++) {
                        long began = System.nanoTime();
                        for (int i = 0; i < 10000; i++) s.task("a").close();
                        best = Math.min(best, System.nanoTime() - began);
                    }
                    System.out.println(best / 10000 + " ns a pair");
                }
                break;
            }
            case "hold": {
                try (Session s = named().saveToFile(false).start()) {
                    ready();
                }
                break;
            }
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }
}
