package codegreen;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.junit.platform.commons.support.AnnotationSupport;

/** Runs a test with an {@link EnergyBudget} as often as its verdict needs: JUnit asks for one run after the other. */
final class EnergyBudgetExtension implements TestTemplateInvocationContextProvider {
    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return AnnotationSupport.isAnnotated(context.getTestMethod(), EnergyBudget.class);
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        EnergyBudget of = AnnotationSupport.findAnnotation(context.getTestMethod(), EnergyBudget.class).orElseThrow();
        Runs runs = new Runs(of, context.getRequiredTestClass().getSimpleName() + "." + context.getDisplayName());
        Spliterator<TestTemplateInvocationContext> one =
            Spliterators.spliteratorUnknownSize(runs, Spliterator.ORDERED | Spliterator.NONNULL);
        return StreamSupport.stream(one, false).onClose(runs::close);
    }

    /** The runs of a test, each of which exists when the one before is over. */
    private static final class Runs implements Iterator<TestTemplateInvocationContext>, InvocationInterceptor {
        private final String text, test;
        private final double joules;
        private final int limit;
        private final List<Budget.Run> runs = new ArrayList<>();
        private int begun;
        private Session session, own;
        private String verdict = Spec.BUDGET_REPEAT, kind = "unavailable";
        private Budget.Judged judged;

        Runs(EnergyBudget of, String test) {
            this.test = test;
            text = of.value();
            limit = of.runs();
            if (limit < 1 || limit > Spec.BUDGET_RUNS_MOST) {
                throw new ExtensionConfigurationException(
                    test + ": @EnergyBudget: " + limit + " runs: use 1 to " + Spec.BUDGET_RUNS_MOST);
            }
            try {
                joules = Budget.parse(text);
            } catch (IllegalArgumentException e) {
                throw new ExtensionConfigurationException(test + ": @EnergyBudget: " + e.getMessage());
            }
        }

        @Override
        public boolean hasNext() {
            return verdict.equals(Spec.BUDGET_REPEAT) && begun == runs.size(); // one that failed gave no energy
        }

        @Override
        public TestTemplateInvocationContext next() {
            if (!hasNext()) throw new NoSuchElementException();
            begun++;
            return new TestTemplateInvocationContext() {
                @Override
                public String getDisplayName(int invocation) {
                    return "run " + invocation;
                }

                @Override
                public List<Extension> getAdditionalExtensions() {
                    return List.of(Runs.this);
                }
            };
        }

        @Override
        public void interceptTestTemplateMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> of, ExtensionContext context)
                throws Throwable {
            Task task = session().startTask(test);
            try {
                invocation.proceed();
            } finally {
                session.leave(System.nanoTime(), task);
            }
            take(task);
            if (verdict.equals(Spec.BUDGET_REPEAT)) return;
            tell(context);
            if (verdict.equals(Spec.BUDGET_EXCEEDED)) {
                throw new AssertionError("the energy budget is exceeded: " + words());
            }
        }

        /** The session of the process, or one for this test. */
        private Session session() {
            if (session == null) {
                Session active = Session.active;
                if (active == null) active = own = Session.named("JUnit").saveToFile(false).start();
                session = active;
            }
            return session;
        }

        void close() {
            if (own != null) own.close();
        }

        private void take(Task task) {
            Budget.Run run = Budget.Run.of(task);
            if (run == null) {
                verdict = Spec.BUDGET_UNKNOWN;
                return;
            }
            kind = task.energyKind();
            runs.add(run);
            judged = Budget.judge(runs, joules, limit);
            verdict = judged.verdict();
        }

        private String words() {
            if (judged == null) return "its energy is not known; the budget is " + text;
            return String.format(Locale.ROOT, "%s J [%s, %s], %s, %s; the budget is %s", figure(judged.energy()),
                figure(judged.lo()), figure(judged.hi()), kind,
                runs.size() == 1 ? "1 run" : "mean of " + runs.size() + " runs", text);
        }

        /** Four digits. */
        private static String figure(double v) {
            if (v == 0) return "0";
            return new java.math.BigDecimal(v, new java.math.MathContext(4)).stripTrailingZeros().toPlainString();
        }

        /** Gives the verdict to standard output, and the figures to the reports of JUnit. */
        private void tell(ExtensionContext context) {
            Map<String, String> figures = new LinkedHashMap<>();
            figures.put("energy_budget_j", rounded(joules));
            figures.put("energy_verdict", verdict);
            if (judged != null) {
                figures.put("energy_j", rounded(judged.energy()));
                figures.put("energy_lo_j", rounded(judged.lo()));
                figures.put("energy_hi_j", rounded(judged.hi()));
                figures.put("energy_kind", kind);
                figures.put("energy_runs", String.valueOf(runs.size()));
            }
            context.publishReportEntry(figures);
            System.out.println("energy budget: " + verdict + ": " + test + ": " + words());
        }

        private static String rounded(double v) {
            return new java.math.BigDecimal(v).setScale(6, java.math.RoundingMode.HALF_EVEN).stripTrailingZeros()
                .toPlainString();
        }
    }
}
