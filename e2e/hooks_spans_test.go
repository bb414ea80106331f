package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/long"
)

// exampleBelow is the first block of a language behind a heading of a page of docs.
func exampleBelow(t *testing.T, page, heading, lang string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	_, program, begun := strings.Cut(section, "\n```"+lang+"\n")
	program, _, ended := strings.Cut(program, "\n```\n")
	if !found || !begun || !ended {
		t.Fatalf("%s has no example of %s below %s", page, lang, heading)
	}
	return program + "\n"
}

const javaSpans = `
import io.opentelemetry.api.common.*;
import io.opentelemetry.api.trace.*;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.*;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.*;
import java.util.*;
import java.util.concurrent.TimeUnit;

public class Spans {
    static final double WATTS = 23;
    static final Map<String, SpanData> SPANS = Collections.synchronizedMap(new HashMap<>());

    static final class Kept implements SpanExporter {
        public CompletableResultCode export(Collection<SpanData> spans) {
            for (SpanData s : spans) SPANS.put(s.getName(), s);
            return CompletableResultCode.ofSuccess();
        }
        public CompletableResultCode flush() { return CompletableResultCode.ofSuccess(); }
        public CompletableResultCode shutdown() { return CompletableResultCode.ofSuccess(); }
    }

    static void must(boolean held, Object... said) {
        if (!held) throw new AssertionError(Arrays.toString(said));
    }

    static double of(SpanData s, String name) {
        Double found = s.getAttributes().get(AttributeKey.doubleKey("codegreen." + name));
        must(found != null, s.getName(), name, s.getAttributes());
        return found;
    }

    static double seconds(SpanData s) { return (s.getEndEpochNanos() - s.getStartEpochNanos()) * 1e-9; }

    public static void main(String[] args) throws Exception {
        SpanExporter exporter = new Kept();
        EXAMPLE
        Tracer tracer = provider.get("test");
        Span request = tracer.spanBuilder("request").setAttribute("mine", 1L).startSpan(), late;
        try (Scope scope = request.makeCurrent()) {
            request.addEvent("begun");
            Span query = tracer.spanBuilder("query").startSpan();
            Thread.sleep(100);
            query.end();
            late = tracer.spanBuilder("late").startSpan();
            Thread.sleep(100);
        }
        request.end();
        Thread.sleep(100);
        late.end(); // after its parent
        must(provider.forceFlush().join(30, TimeUnit.SECONDS).isSuccess(), "flush");
        must(SPANS.keySet().equals(Set.of("request", "query", "late")), SPANS.keySet());
        for (String name : SPANS.keySet()) {
            SpanData s = SPANS.get(name);
            must("measured".equals(s.getAttributes().get(AttributeKey.stringKey("codegreen.energy_kind"))), s.getAttributes());
            must(seconds(s) >= (name.equals("query") ? 0.09 : 0.19), name, seconds(s));
            double joules = of(s, "energy_j"), want = WATTS * seconds(s);
            must(of(s, "energy_lo_j") <= joules && joules <= of(s, "energy_hi_j"), name, s.getAttributes());
            must(0.7 * want < joules && joules < 1.3 * want, name, joules, want);
        }
        SpanData r = SPANS.get("request");
        must(r.getAttributes().get(AttributeKey.longKey("mine")) == 1 && r.getEvents().size() == 1, r);
        must(r.getTotalAttributeCount() == r.getAttributes().size(), r);
        must(SPANS.get("query").getParentSpanId().equals(r.getSpanId()), SPANS);

        // Two traces at a time share.
        SPANS.clear();
        Thread[] both = new Thread[2];
        long began = System.nanoTime();
        for (int i = 0; i < 2; i++) {
            Span span = tracer.spanBuilder("trace " + i).setNoParent().startSpan();
            both[i] = new Thread(() -> {
                long until = System.nanoTime() + 300_000_000;
                while (System.nanoTime() < until) Thread.onSpinWait();
                span.end();
            });
            both[i].start();
        }
        for (Thread t : both) t.join();
        double lasted = (System.nanoTime() - began) * 1e-9;
        must(provider.forceFlush().join(30, TimeUnit.SECONDS).isSuccess(), "flush");
        double sum = of(SPANS.get("trace 0"), "energy_j") + of(SPANS.get("trace 1"), "energy_j");
        must(SPANS.size() == 2 && sum < 1.3 * WATTS * lasted, sum, lasted);

        // What ends behind the shutdown reaches the next one as it can, and nothing fails.
        tracer.spanBuilder("last").startSpan().end();
        Span open = tracer.spanBuilder("open").startSpan();
        must(provider.shutdown().join(30, TimeUnit.SECONDS).isSuccess(), "shutdown");
        open.end();
        must(SPANS.containsKey("last"), SPANS.keySet());

        // A next processor that fails has those that follow; the session of the program keeps the tasks.
        try (codegreen.Session s = codegreen.Session.named("mine").saveToFile(false).start()) {
            List<String> names = new ArrayList<>();
            SdkTracerProvider other = SdkTracerProvider.builder().addSpanProcessor(new codegreen.EnergySpanProcessor(new SpanProcessor() {
                public void onStart(Context parent, ReadWriteSpan span) { throw new AssertionError("not asked for"); }
                public boolean isStartRequired() { return false; }
                public boolean isEndRequired() { return true; }
                public void onEnd(ReadableSpan span) {
                    if (span.getName().equals("bad")) throw new IllegalStateException("full");
                    names.add(span.getName() + " " + span.getAttribute(AttributeKey.stringKey("codegreen.energy_kind")));
                }
            })).build();
            for (String name : List.of("bad", "good")) other.get("x").spanBuilder(name).startSpan().end();
            must(other.shutdown().join(30, TimeUnit.SECONDS).isSuccess(), "shutdown");
            must(names.equals(List.of("good measured")), names);
            must(s.tasks().size() == 2 && s.tasks().get(1).name().equals("good") && !s.tasks().get(1).forgotten(), s.tasks());
        }

        // So it has them behind an error, an interrupt and a flush that fails, and a shutdown that fails ends.
        List<String> names = new ArrayList<>();
        boolean[] full = {true};
        SdkTracerProvider other = SdkTracerProvider.builder().addSpanProcessor(new codegreen.EnergySpanProcessor(new SpanProcessor() {
            public void onStart(Context parent, ReadWriteSpan span) { }
            public boolean isStartRequired() { return false; }
            public boolean isEndRequired() { return true; }
            public void onEnd(ReadableSpan span) {
                if (span.getName().equals("bad")) throw new NoClassDefFoundError("gone");
                if (span.getName().equals("stop")) Thread.currentThread().interrupt();
                names.add(span.getName());
            }
            public CompletableResultCode forceFlush() {
                if (full[0]) throw new IllegalStateException("full");
                return CompletableResultCode.ofSuccess();
            }
            public CompletableResultCode shutdown() { throw new IllegalStateException("open"); }
        })).build();
        Tracer x = other.get("x");
        for (String name : List.of("bad", "stop", "good")) x.spanBuilder(name).startSpan().end();
        CompletableResultCode flushed = other.forceFlush().join(30, TimeUnit.SECONDS);
        must(flushed.isDone() && !flushed.isSuccess(), "a flush that fails");
        full[0] = false;
        x.spanBuilder("behind").startSpan().end();
        must(other.forceFlush().join(30, TimeUnit.SECONDS).isSuccess(), "flush");
        must(names.equals(List.of("stop", "good", "behind")), names);
        CompletableResultCode over = other.shutdown().join(30, TimeUnit.SECONDS);
        must(over.isDone() && !over.isSuccess(), "a shutdown that fails");
        System.out.println("held");
    }
}
`

// EnergySpanProcessor of cg sdk java writes joules and bounds onto the spans of the real SDK of OpenTelemetry, as docs/hooks.md has it.
func TestSpansOfJavaHaveJoules(t *testing.T) {
	long.Skip(t, "OpenTelemetry's SDK for Java starts")
	t.Parallel()
	path, env, dir := javaHooks(t, "opentelemetry"), sdkMachine(t), t.TempDir()
	source := filepath.Join(dir, "Spans.java")
	program := strings.Replace(javaSpans, "EXAMPLE", exampleBelow(t, "hooks.md", "## OpenTelemetry", "java"), 1)
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	compile(t, "-proc:none", "-cp", path, "-d", dir, source)
	cmd := exec.Command("java", "-XX:-UsePerfData", "-cp", dir+":"+path, "Spans")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, string(out), "held\n", "the next processor failed")
	if left, _ := filepath.Glob(filepath.Join(dir, "codegreen_*")); len(left) > 0 {
		t.Error("it wrote", left)
	}
}

const goSpans = `package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	of "go.opentelemetry.io/otel/trace"

	"codegreen"
	energy "codegreen/opentelemetry"
)

const watts = 23

func must(held bool, said ...any) {
	if !held {
		panic(fmt.Sprintln(said...))
	}
}

func joules(s tracetest.SpanStub, name string) float64 {
	for _, a := range s.Attributes {
		if a.Key == attribute.Key("codegreen."+name) {
			return a.Value.AsFloat64()
		}
	}
	panic(fmt.Sprintln("no", name, s.Name, s.Attributes))
}

func main() {
	ctx, exporter := context.Background(), tracetest.NewInMemoryExporter()
	EXAMPLE
	tracer := provider.Tracer("test")
	in, request := tracer.Start(ctx, "request", of.WithAttributes(attribute.Int("mine", 1)))
	request.AddEvent("begun")
	_, query := tracer.Start(in, "query")
	time.Sleep(100 * time.Millisecond)
	query.End()
	_, late := tracer.Start(in, "late")
	_, beside := tracer.Start(in, "beside")
	time.Sleep(100 * time.Millisecond)
	beside.End()
	request.End()
	time.Sleep(100 * time.Millisecond)
	late.End() // after its parent
	must(provider.ForceFlush(ctx) == nil, "flush")
	spans := map[string]tracetest.SpanStub{}
	for _, s := range exporter.GetSpans() {
		spans[s.Name] = s
	}
	must(len(spans) == 4, spans)
	for name, s := range spans {
		seconds := s.EndTime.Sub(s.StartTime).Seconds()
		must(slices.Contains(s.Attributes, attribute.String("codegreen.energy_kind", "measured")), name, s.Attributes)
		j := joules(s, "energy_j")
		must(joules(s, "energy_lo_j") <= j && j <= joules(s, "energy_hi_j"), name, s.Attributes)
		must(0.7*watts*seconds < j && j < 1.3*watts*seconds, name, seconds, j)
	}
	r := spans["request"]
	must(slices.Contains(r.Attributes, attribute.Int("mine", 1)) && len(r.Events) == 1, r)
	must(spans["query"].Parent.SpanID() == r.SpanContext.SpanID(), spans)
	must(len(codegreen.Active().Tasks()) == 0, "tasks are kept")

	// Two traces at a time share.
	exporter.Reset()
	began := time.Now()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			_, span := tracer.Start(ctx, "trace")
			time.Sleep(300 * time.Millisecond)
			span.End()
		})
	}
	both.Wait()
	lasted := time.Since(began).Seconds()
	must(provider.ForceFlush(ctx) == nil, "flush")
	sum := 0.0
	for _, s := range exporter.GetSpans() {
		sum += joules(s, "energy_j")
	}
	must(len(exporter.GetSpans()) == 2 && sum < 1.3*watts*lasted, sum, lasted)

	exporter.Reset()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, last := tracer.Start(ctx, "last")
	last.End()
	must(processor.ForceFlush(gone) != nil, "it waited for nothing")
	_, open := tracer.Start(ctx, "open")
	must(provider.Shutdown(ctx) == nil, "shutdown")
	open.End() // nobody takes it, and nothing fails
	must(codegreen.Active() == nil, "its session goes on")

	// The session of the program keeps the tasks.
	s, err := codegreen.Start("mine", codegreen.WithoutFile())
	must(err == nil, err)
	other := trace.NewTracerProvider(trace.WithSpanProcessor(energy.NewEnergySpanProcessor(trace.NewSimpleSpanProcessor(exporter))))
	in, outer := other.Tracer("x").Start(ctx, "outer")
	_, inner := other.Tracer("x").Start(in, "inner")
	inner.End()
	outer.End()
	must(other.Shutdown(ctx) == nil, "shutdown")
	must(len(s.Tasks()) == 2 && s.Tasks()[1].Name() == "inner" && s.Tasks()[0].EnergyKind() == "measured", s.Tasks())
	must(s.Close() == nil, "close")
	fmt.Println("held")
}
`

const goSpansModule = `module spans

go 1.25

require (
	codegreen v0.0.0
	codegreen/opentelemetry v0.0.0
)

replace codegreen => ./sdk

replace codegreen/opentelemetry => ./sdk/opentelemetry
`

// The span processor of cg sdk go does the same. OpenTelemetry is the one that cg needs itself.
func TestSpansOfGoHaveJoules(t *testing.T) {
	long.Skip(t, "OpenTelemetry's SDK for Go is compiled")
	t.Parallel()
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	env, dir := sdkMachine(t), t.TempDir()
	if out, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "sdk", "go", filepath.Join(dir, "sdk")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := strings.Replace(goSpans, "EXAMPLE", exampleBelow(t, "hooks.md", "## OpenTelemetry", "go"), 1)
	for name, text := range map[string]string{"go.mod": goSpansModule, "go.sum": string(sums), "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-race", ".")
	cmd.Dir, cmd.Env = dir, append(env, "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, string(out), "held\n")
}
