package codegreen;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.common.InstrumentationLibraryInfo;
import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.data.DelegatingSpanData;
import io.opentelemetry.sdk.trace.data.SpanData;

/** A span that ended, with the attributes of a task's energy. */
final class SpanWithEnergy implements ReadableSpan {
    private final ReadableSpan span;
    private final Attributes energy;

    SpanWithEnergy(ReadableSpan span, Task task) {
        this.span = span;
        AttributesBuilder of = Attributes.builder().put("codegreen.energy_kind", task.energyKind());
        put(of, "energy_j", task.energyJ());
        put(of, "energy_lo_j", task.energyLoJ());
        put(of, "energy_hi_j", task.energyHiJ());
        put(of, "program_energy_j", task.programEnergyJ());
        put(of, "program_energy_lo_j", task.programEnergyLoJ());
        put(of, "program_energy_hi_j", task.programEnergyHiJ());
        energy = of.build();
    }

    private static void put(AttributesBuilder to, String name, double joules) {
        if (!Double.isNaN(joules)) to.put("codegreen." + name, joules);
    }

    @Override
    public SpanData toSpanData() {
        SpanData data = span.toSpanData();
        Attributes all = data.getAttributes().toBuilder().putAll(energy).build();
        return new DelegatingSpanData(data) {
            @Override
            public Attributes getAttributes() {
                return all;
            }

            @Override
            public int getTotalAttributeCount() {
                return data.getTotalAttributeCount() + energy.size();
            }
        };
    }

    @Override
    public <T> T getAttribute(AttributeKey<T> key) {
        T found = energy.get(key);
        return found == null ? span.getAttribute(key) : found;
    }

    @Override
    public Attributes getAttributes() {
        return toSpanData().getAttributes();
    }

    @Override
    public SpanContext getSpanContext() {
        return span.getSpanContext();
    }

    @Override
    public SpanContext getParentSpanContext() {
        return span.getParentSpanContext();
    }

    @Override
    public String getName() {
        return span.getName();
    }

    @Override
    @Deprecated
    public InstrumentationLibraryInfo getInstrumentationLibraryInfo() {
        return span.getInstrumentationLibraryInfo();
    }

    @Override
    public InstrumentationScopeInfo getInstrumentationScopeInfo() {
        return span.getInstrumentationScopeInfo();
    }

    @Override
    public boolean hasEnded() {
        return span.hasEnded();
    }

    @Override
    public long getLatencyNanos() {
        return span.getLatencyNanos();
    }

    @Override
    public SpanKind getKind() {
        return span.getKind();
    }
}
