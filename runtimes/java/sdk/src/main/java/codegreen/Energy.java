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
 * @param left    whether a GPU has energy that is in no task, as several had a part
 */
record Energy(
        Map<String, Long> domains, long total, long machine, long lo, long hi, String method,
        Division.Share program, boolean left) {
    /**
     * The energy from start to end, of which the task had these parts. Nothing tells whose the energy of a GPU is, so
     * the task has what it used while nobody else had a part. It is null where that of a domain of the total is
     * not known, and where there is none.
     */
    static Energy of(Samples samples, long start, long end, List<Shares.Part> parts) {
        Map<String, Long> domains = new LinkedHashMap<>();
        boolean shared = !parts.isEmpty();
        long total = 0;
        boolean known = false, left = false;
        double lo = 0, hi = 0, machine = 0;
        String method = Spec.METHOD_BRACKET;
        Division.Sum program = new Division.Sum(samples, start, end, parts);
        for (int d = 0; d < samples.domains.size(); d++) {
            Domain domain = samples.domains.get(d);
            Samples.Span span = samples.silent(d, start, end).isEmpty() ? samples.between(d, start, end) : null;
            if (span == null) {
                if (domain.inTotal()) return null;
                continue;
            }
            double own = 1, alone = 1;
            for (Shares.Part p : parts) {
                double used = used(samples, d, start, end, p);
                own -= used * (1 - p.of());
                alone -= used;
            }
            double slack = span.slack() + domain.stepUj() * 1e-6;
            if (shared && domain.kind().equals(Spec.KIND_GPU)) {
                own = Math.max(0, alone);
                left = true;
                if (own <= Spec.ALONE_ZERO_PART) { // nothing is known of it
                    if (domain.inTotal()) {
                        machine += span.joules();
                        hi += (span.joules() + slack) * domain.hi();
                    }
                    continue;
                }
            }
            // Rounded down where it is shared: tasks do not add up to more than there is.
            long micro = (long) (span.joules() * Math.max(0, own) * 1e6 + (shared ? 0 : 0.5));
            domains.put(domain.id(), micro);
            if (!domain.inTotal()) continue;
            known = true;
            total += micro;
            machine += span.joules();
            double below = Math.max(0, span.joules() - slack) * Math.max(0, alone) * domain.lo();
            double above = (span.joules() + slack) * domain.hi();
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
        if (!shared) return new Energy(domains, total, total, least, most, method, share, false);
        long whole = (long) (machine * 1e6 + 0.5);
        return new Energy(domains, total, whole, least, most, Spec.METHOD_SHARED, share, left);
    }

    /** Which part of the energy from start to end was used in a part of that time. */
    private static double used(Samples samples, int d, long start, long end, Shares.Part p) {
        double all = samples.energyAt(d, end) - samples.energyAt(d, start);
        if (!(all > 0)) return (double) (p.end() - p.start()) / Math.max(1, end - start);
        return (samples.energyAt(d, p.end()) - samples.energyAt(d, p.start())) / all;
    }
}
