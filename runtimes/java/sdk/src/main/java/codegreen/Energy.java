package codegreen;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a task used, in microjoules.
 *
 * @param machine what the whole machine used meanwhile
 * @param lo      with hi: the true figure is between them
 * @param method  the weakest of the domains that make up the total, or shared
 * @param program the program's share, null where it is not known
 */
record Energy(
        Map<String, Long> domains, long total, long machine, long lo, long hi, String method,
        Division.Share program) {
    /**
     * The energy from start to end, of which the task had these parts. Of a GPU it has what the program used while
     * nobody else had a part; whose the energy of GPUs was comes to gpus. It is null where that of a domain of the
     * total is not known, and where there is none.
     */
    static Energy of(Samples samples, long start, long end, List<Shares.Part> parts, List<Gpu.Use> gpus) {
        Map<String, Long> domains = new LinkedHashMap<>();
        boolean shared = !parts.isEmpty();
        long total = 0;
        boolean known = false;
        double lo = 0, hi = 0, machine = 0;
        String method = Spec.METHOD_BRACKET;
        Division.Sum program = new Division.Sum(samples, start, end, parts);
        for (int d = 0; d < samples.domains.size(); d++) {
            Domain domain = samples.domains.get(d);
            Samples.Span span = samples.silent(d, start, end).isEmpty() ? samples.between(d, start, end) : null;
            if (span == null) {
                if (!domain.inTotal()) continue;
                gpus.clear();
                return null;
            }
            double own = 1, alone = 1;
            for (Shares.Part p : parts) {
                double used = used(samples, d, start, end, p);
                own -= used * (1 - p.of());
                alone -= used;
            }
            double slack = span.slack() + domain.stepUj() * 1e-6;
            // Rounded down where it is shared: tasks do not add up to more than there is.
            long micro = (long) (span.joules() * Math.max(0, own) * 1e6 + (shared ? 0 : 0.5));
            double below = Math.max(0, span.joules() - slack) * Math.max(0, alone) * domain.lo();
            double above = (span.joules() + slack) * domain.hi();
            if (domain.kind().equals(Spec.KIND_GPU)) {
                slack = Math.hypot(span.slack(), samples.lag(d, start, end)) + domain.stepUj() * 1e-6;
                Gpu.Use use = Gpu.use(samples, d, start, end, parts, span.joules(), slack);
                gpus.add(use);
                micro = use.program();
                below = use.lo() * 1e-6 * domain.lo();
                above = use.hi() * 1e-6 * domain.hi();
                if (!use.known()) {
                    if (!domain.inTotal()) continue;
                    machine += span.joules();
                    hi += above;
                    program.more(above);
                    continue;
                }
            }
            domains.put(domain.id(), micro);
            if (!domain.inTotal()) continue;
            known = true;
            total += micro;
            machine += span.joules();
            lo += below;
            hi += above;
            program.add(d, micro, below, above);
            if (Samples.METHODS.indexOf(span.method()) > Samples.METHODS.indexOf(method)) method = span.method();
        }
        if (!known) return null;
        // The bounds are rounded outwards, but for what rounding leaves.
        long least = Math.min(total, (long) Math.floor(lo * 1e6 + 1e-6));
        long most = Math.max(total, (long) Math.ceil(hi * 1e6 - 1e-6));
        Division.Share share = program.share(most);
        long whole = shared || !gpus.isEmpty() ? (long) (machine * 1e6 + 0.5) : total;
        return new Energy(domains, total, whole, least, most, shared ? Spec.METHOD_SHARED : method, share);
    }

    /** Which part of the energy from start to end was used in a part of that time. */
    private static double used(Samples samples, int d, long start, long end, Shares.Part p) {
        double all = samples.energyAt(d, end) - samples.energyAt(d, start);
        if (!(all > 0)) return (double) (p.end() - p.start()) / Math.max(1, end - start);
        return (samples.energyAt(d, p.end()) - samples.energyAt(d, p.start())) / all;
    }
}
