package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"cg/report/usage"
)

// A process is busy, and OpenTelemetry's SDK sends spans of it to cg monitor: they have its energy by
// time, and no more than it.
func TestMonitorSpans(t *testing.T) {
	dir := knownMachine(t)
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { busy.Process.Kill(); busy.Wait() }()
	file := filepath.Join(t.TempDir(), "out.json")
	cg := monitorCommand(t, "--sysroot", dir, "-i", "0.2", "--otlp-listen", "127.0.0.1:0", "-o", file)
	said, err := cg.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cg.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cg.Start(); err != nil {
		t.Fatal(err)
	}
	defer cg.Process.Kill()
	first, _ := bufio.NewReader(said).ReadString('\n')
	found := regexp.MustCompile(`^cg: spans are taken at http://(.*)\n$`).FindStringSubmatch(first)
	if found == nil {
		t.Fatalf("%q", first)
	}
	rows := bufio.NewScanner(out)
	rows.Scan() // an interval has begun
	to, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(resource.NewSchemaless(semconv.ProcessPID(busy.Process.Pid))))
	tracer := provider.Tracer("test")
	request := func(name string, intervals int) {
		_, span := tracer.Start(context.Background(), name, trace.WithSpanKind(trace.SpanKindServer))
		for range intervals {
			rows.Scan()
		}
		span.End()
	}
	request("GET /dear", 9)
	request("GET /cheap", 3)
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows.Scan()
	rows.Scan()
	cg.Process.Signal(unix.SIGINT)
	go io.Copy(io.Discard, said)
	for rows.Scan() {
	}
	if err := cg.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d usage.Document
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Requests) != 2 || d.Requests[0].Name != "GET /dear" || d.Requests[0].Requests != 1 || d.Requests[1].Requests != 1 {
		t.Fatalf("%+v", d.Requests)
	}
	dear, cheap := d.Requests[0], d.Requests[1]
	if *dear.EnergyLoJ != 0 || *cheap.EnergyJ == 0 || *dear.EnergyJ < *cheap.EnergyJ {
		t.Errorf("%+v\n%+v", dear, cheap)
	}
	for _, p := range d.Processes {
		if p.PID != busy.Process.Pid {
			continue
		}
		// By the parts of the time that the spans have, of a process that never waits.
		part := (dear.TimeS + cheap.TimeS) / d.DurationS
		sum := dear.EnergyJ.Float() + cheap.EnergyJ.Float()
		if all := p.EnergyJ.Float(); sum > all+1e-6 || sum < 0.6*part*all {
			t.Errorf("%v J of %v J, in %v of the time", sum, all, part)
		}
	}
}
