package cg$;

import java.util.function.IntConsumer;

/**
 * The calls of R as objects of a type that every compiler knows: what a build
 * compiles need not find R. Each has a class of its own, so that the compilers
 * of the virtual machine know which it is.
 */
public final class Calls {
    /** R.e, R.x, R.p */
    public static final IntConsumer[] CALLS = {new Enter(), new Exit(), new Place()};

    private Calls() {}

    private static final class Enter implements IntConsumer {
        @jdk.internal.vm.annotation.Hidden
        public void accept(int site) {
            R.e(site);
        }
    }

    private static final class Exit implements IntConsumer {
        @jdk.internal.vm.annotation.Hidden
        public void accept(int site) {
            R.x(site);
        }
    }

    private static final class Place implements IntConsumer {
        @jdk.internal.vm.annotation.Hidden
        public void accept(int place) {
            R.p(place);
        }
    }
}
