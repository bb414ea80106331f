package codegreen;

import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.ScalarResult;
import org.openjdk.jmh.runner.IterationType;

/**
 * A profiler of JMH: {@code -prof codegreen.Jmh}. Each measured iteration is a task; its energy by its operations is
 * the score {@code energy} in uJ/op, of which JMH gives the error over iterations and forks. {@code energy.lo} and
 * {@code energy.hi} are the means of the bounds. docs/hooks.md of cg has more.
 */
public final class Jmh implements InternalProfiler {
    private Session session; // of the iteration
    private boolean own;
    private Task task;

    @Override
    public String getDescription() {
        return "Energy of an operation, by codegreen";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        if (iteration.getType() != IterationType.MEASUREMENT) return;
        session = Session.active;
        own = session == null;
        if (own) session = Session.named("JMH").saveToFile(false).start();
        task = session.startTask(benchmark.id());
    }

    @Override
    public Collection<ScalarResult> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        if (task == null) return List.of();
        session.leave(System.nanoTime(), task);
        Budget.Run run = Budget.Run.of(task);
        String kind = task.energyKind();
        if (own) session.close();
        task = null;
        long operations = result.getMetadata().getAllOps();
        if (run == null || operations <= 0) return List.of();
        String name = kind.equals("measured") ? "energy" : "energy." + kind;
        return List.of(score(name, run.energy(), operations), score(name + ".lo", run.lo(), operations),
            score(name + ".hi", run.hi(), operations));
    }

    private static ScalarResult score(String name, double joules, long operations) {
        return new ScalarResult(name, joules * 1e6 / operations, "uJ/op", AggregationPolicy.AVG);
    }
}
