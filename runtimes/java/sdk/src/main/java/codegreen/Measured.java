package codegreen;

import java.time.Instant;
import java.util.List;

/**
 * A session at a moment, of which a report is made.
 *
 * @param record  whether samples are kept
 * @param gauges  null where none are recorded
 * @param began   the wall clock's time of mono
 * @param mono    when it began, in ns of CLOCK_MONOTONIC
 * @param stopped when it ended, or the moment
 * @param tasks   in the order in which they began; those are shown whose energies were computed
 * @param words   warnings; the report adds its own
 */
record Measured(String name, boolean record, Source source, Samples samples, Gauges gauges, Instant began, long mono,
        long stopped, List<Task> tasks, Words words) {}
