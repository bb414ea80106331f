package codegreen;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;

/**
 * A test with the energy that it may use, in the place of {@code @Test}.
 *
 * <pre>{@code
 * @EnergyBudget("2 J")
 * void search() {
 *     index.search("joule");
 * }
 * }</pre>
 *
 * <p>The test fails where the lower end of its interval exceeds the budget. It runs again as far as that needs, each
 * time with fixtures of its own. No other test runs beside it. docs/budgets.md of cg has the rules.
 */
@Documented
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
@ExtendWith(EnergyBudgetExtension.class)
@Execution(ExecutionMode.SAME_THREAD)
@ResourceLock(Resources.GLOBAL)
public @interface EnergyBudget {
    /** A number above 0 and mJ, J, kJ, MJ, mWh, Wh or kWh. */
    String value();

    /** How often the test runs at most, 1 to 10. */
    int runs() default Spec.BUDGET_RUNS;
}
