package codegreen;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A folder of powercap: what it is called, whether it is part of the machine's energy, and whether its unit can be
 * right. The rule for all of them is cg's own (runtimes/sdk/spec/cases/powercap.json of cg).
 */
final class Zone {
    static final Pattern FOLDER = Pattern.compile("([a-z][a-z0-9-]*)((?::[0-9]+)+)");
    private static final Pattern DIE = Pattern.compile("(package-[0-9]+)-die-[0-9]+");

    final Path path;
    final long wrap; // what its counter wraps at in uJ, 0 where it does not say
    private final String driver, name;
    private final List<Integer> numbers = new ArrayList<>(); // 0 1 of intel-rapl:0:1
    Zone parent;
    String id;
    private boolean repeats; // what another driver reads, too

    Zone(Path path, String name, long wrap) {
        this.path = path;
        this.name = name;
        this.wrap = wrap;
        Matcher m = FOLDER.matcher(path.getFileName().toString());
        m.matches();
        driver = m.group(1);
        for (String n : m.group(2).substring(1).split(":")) numbers.add(Integer.parseInt(n));
        id = name;
    }

    String file() {
        return path.resolve("energy_uj").toString();
    }

    private String kind() {
        if (name.startsWith("package-")) return "cpu_package";
        return name.matches("dram(-[0-9]+)?") ? "dram" : name.matches("psys(-[0-9]+)?") ? "psys" : "";
    }

    /** What its counter counts in, in uJ, if it has as many bits as RAPL's counters. */
    private double unit() {
        return wrap / (double) (1L << Spec.COUNTER_BITS);
    }

    Domain domain() {
        double unit = unit() > 0 && unit() <= 1e6 ? unit() : 1e6 / (1 << Spec.UNIT61_POWER);
        long step = (long) Math.ceil(unit);
        return new Domain(id, kind(), "", true, Spec.KINDS.get(0), file(), Spec.RAPL_PERIOD_NS, 1, 1, step);
    }

    /** What /proc/cpuinfo says of a processor. */
    record Processor(String vendor, String family, String model) {
        static Processor of(String cpuinfo) {
            String vendor = "", family = "", model = "";
            for (String line : cpuinfo.split("\n")) {
                int colon = line.indexOf(':');
                if (colon < 0) continue;
                String value = line.substring(colon + 1).strip();
                switch (line.substring(0, colon).strip()) {
                    case "vendor_id" -> vendor = value;
                    case "cpu family" -> family = value;
                    case "model" -> model = value;
                    default -> { }
                }
            }
            return new Processor(vendor, family, model);
        }

        /** The unit of a server's memory counter in uJ, 0 where none is fixed. */
        private double memoryUnit() {
            if (!vendor.equals("GenuineIntel") || !family.equals("6") || !model.matches("[0-9]{1,9}")) return 0;
            int number = Integer.parseInt(model);
            if (Spec.UNIT15_MODELS.contains(number)) return 1e6 / (1 << Spec.UNIT15_POWER);
            return Spec.UNIT61_MODELS.contains(number) ? 1e6 / (1 << Spec.UNIT61_POWER) : 0;
        }
    }

    /** What is wrong with its unit; "" for nothing. */
    String doubt(Processor beside) {
        double unit = unit(), want = beside.memoryUnit();
        if (wrap == 0 || kind().equals("psys")) return ""; // which counts whole joules on some servers
        if (kind().equals("dram") && want > 0 && (unit > want * Spec.UNIT_FACTOR || unit < want / Spec.UNIT_FACTOR)) {
            String form = "%s: the kernel takes its unit for %.1f uJ, and memory beside this processor counts %.1f uJ: "
                + "its energy is %.1f times too %s";
            double factor = Math.max(unit / want, want / unit);
            return String.format(Locale.ROOT, form, id, unit, want, factor, unit > want ? "high" : "low");
        }
        if (unit < Spec.UNIT_LEAST_UJ || unit > Spec.UNIT_MOST_UJ) {
            String form = "%s: max_energy_range_uj means a unit of %.3g uJ, and RAPL counts in %s to %s uJ";
            return String.format(Locale.ROOT, form, id, unit, Spec.UNIT_LEAST_UJ, Spec.UNIT_MOST_UJ);
        }
        return "";
    }

    /** The package of a die, "" for another zone. */
    private String die() {
        Matcher m = DIE.matcher(id);
        return m.matches() ? m.group(1) : "";
    }

    /** Whether this and another are dies of one package. */
    boolean besides(Zone o) {
        return !die().isEmpty() && die().equals(o.die());
    }

    private boolean is(List<Zone> among, boolean otherDriver) {
        return among.stream().anyMatch(o -> o.id.equals(id)
            && (!otherDriver || !o.driver.equals(driver) && !o.repeats));
    }

    private static int byNumbers(Zone a, Zone b) {
        for (int i = 0; i < Math.min(a.numbers.size(), b.numbers.size()); i++) {
            int c = Integer.compare(a.numbers.get(i), b.numbers.get(i));
            if (c != 0) return c;
        }
        return Integer.compare(a.numbers.size(), b.numbers.size());
    }

    /** Gives zones parents and ids, in the order of their numbers; those that make up the machine's energy, once. */
    static List<Zone> arranged(List<Zone> zones) {
        List<Zone> sorted = new ArrayList<>(zones), kept = new ArrayList<>();
        sorted.sort(Comparator.comparing((Zone z) -> z.driver).thenComparing(Zone::byNumbers));
        Set<String> drivers = new HashSet<>();
        boolean several = false;
        for (Zone z : sorted) if (z.name.startsWith("package-")) several |= !drivers.add(z.driver);
        for (Zone z : sorted) {
            List<Integer> above = z.numbers.subList(0, z.numbers.size() - 1);
            for (Zone o : kept) if (o.driver.equals(z.driver) && o.numbers.equals(above)) z.parent = o;
            if (z.parent != null) {
                if (!z.parent.id.startsWith("package-")) z.id = z.name + "-" + z.parent.id;
                else if (several) z.id = z.name + z.parent.id.substring("package".length());
            } else if (several && z.name.equals("dram")) {
                z.id = "dram-0";
            }
            // The same zone through another driver: intel-rapl-mmio:0 reads the package of intel-rapl:0.
            z.repeats = z.is(kept, true);
            for (int n = 1; !z.repeats && z.is(kept, false); n++) z.id = z.name + "-" + n;
            kept.add(z);
        }
        kept.removeIf(z -> z.repeats);
        if (kept.stream().noneMatch(z -> z.kind().equals("cpu_package"))) {
            for (Zone z : kept) if (z.kind().equals("psys")) return List.of(z);
        }
        kept.removeIf(z -> !z.kind().equals("cpu_package") && !z.kind().equals("dram"));
        return kept;
    }

    /**
     * The energy in uJ between two readings of a counter, elapsed ns apart; -1 where it is not known: it was reset, or
     * may have gone round more than once (runtimes/sdk/spec/cases/unwrap.json of cg).
     */
    static long more(long before, long now, long wrap, long elapsed) {
        if (wrap > 0 && (before >= wrap || now >= wrap) || wrap == 0 && now < before) return -1;
        long used = now >= before ? now - before : wrap - before + now;
        if (used > Spec.IMPLAUSIBLE_W * 1e-3 * Math.max(0, elapsed)) return -1;
        return wrap > 0 && used + (double) wrap <= Spec.SUSTAINED_W * 1e-3 * elapsed ? -1 : used;
    }
}
