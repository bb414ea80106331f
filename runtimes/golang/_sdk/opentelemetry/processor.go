// Package opentelemetry puts joules onto the spans of OpenTelemetry (docs/hooks.md of cg).
//
//	processor := opentelemetry.NewEnergySpanProcessor(trace.NewBatchSpanProcessor(exporter))
//	provider := trace.NewTracerProvider(trace.WithSpanProcessor(processor))
package opentelemetry

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"codegreen"
)

const prefix = "codegreen."

// EnergySpanProcessor gives spans to the next processor with their energy.
//
// The energy of a span is known some 20 ms after its end, so the next processor gets it then, in a goroutine of this
// one. The spans of one trace that follow from each other in this process are one group: traces that run at the same
// time share the machine's energy as tasks of different goroutines do. The session is the one that is active, or one
// of its own.
type EnergySpanProcessor struct {
	next    sdk.SpanProcessor
	session *codegreen.Session
	own     bool

	mu     sync.Mutex
	open   map[trace.SpanID]part
	queue  []any         // of ended, and of chan struct{}, which is closed when all before it is handed on
	woken  chan struct{} // the queue has something
	closed bool
	done   chan struct{} // the worker has ended
}

// part is an open span's task and the group of its trace.
type part struct {
	task  *codegreen.Task
	group *codegreen.Group
}

type ended struct {
	span sdk.ReadOnlySpan
	task *codegreen.Task
}

// NewEnergySpanProcessor makes a processor around another one.
func NewEnergySpanProcessor(next sdk.SpanProcessor) *EnergySpanProcessor {
	p := &EnergySpanProcessor{
		next: next, session: codegreen.Active(), open: map[trace.SpanID]part{},
		woken: make(chan struct{}, 1), done: make(chan struct{}),
	}
	for p.session == nil {
		// Without signals: there is no file to save.
		s, err := codegreen.Start("opentelemetry", codegreen.WithoutFile(), codegreen.WithoutSignals())
		if errors.Is(err, codegreen.ErrActive) { // begun meanwhile
			p.session = codegreen.Active()
			continue
		}
		p.session, p.own = s, true
	}
	go p.work()
	return p
}

// OnStart begins the span's task.
func (p *EnergySpanProcessor) OnStart(parent context.Context, span sdk.ReadWriteSpan) {
	p.mu.Lock()
	around, within := p.open[span.Parent().SpanID()]
	if !within {
		around.group = p.session.Group()
	}
	if task := around.group.Task(around.task, span.Name()); task != nil {
		p.open[span.SpanContext().SpanID()] = part{task, around.group}
	}
	p.mu.Unlock()
	p.next.OnStart(parent, span)
}

// OnEnd ends the span's task. The next processor gets the span when its energy is known.
func (p *EnergySpanProcessor) OnEnd(span sdk.ReadOnlySpan) {
	p.mu.Lock()
	of, begun := p.open[span.SpanContext().SpanID()]
	if !begun { // before this processor was there, or behind the session
		p.mu.Unlock()
		p.next.OnEnd(span)
		return
	}
	delete(p.open, span.SpanContext().SpanID())
	of.task.End()
	late := p.closed
	if !late {
		p.put(ended{span, of.task})
	}
	p.mu.Unlock()
	if late {
		p.handOn(ended{span, of.task})
	}
}

// put adds to the queue, p.mu being locked.
func (p *EnergySpanProcessor) put(what any) {
	p.queue = append(p.queue, what)
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// flush waits until all that ended so far was handed on.
func (p *EnergySpanProcessor) flush(ctx context.Context, last bool) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return p.wait(ctx, p.done)
	}
	all := make(chan struct{})
	p.closed = last
	p.put(all)
	p.mu.Unlock()
	if last {
		all = p.done
	}
	return p.wait(ctx, all)
}

func (p *EnergySpanProcessor) wait(ctx context.Context, until chan struct{}) error {
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ForceFlush waits until the next processor has each span that ended, and flushes it.
func (p *EnergySpanProcessor) ForceFlush(ctx context.Context) error {
	if err := p.flush(ctx, false); err != nil {
		return err
	}
	return p.next.ForceFlush(ctx)
}

// Shutdown does the same, and ends a session of its own and the next processor.
func (p *EnergySpanProcessor) Shutdown(ctx context.Context) error {
	err := p.flush(ctx, true)
	if p.own {
		err = errors.Join(err, p.session.Close())
	}
	return errors.Join(err, p.next.Shutdown(ctx))
}

func (p *EnergySpanProcessor) work() {
	defer close(p.done)
	for range p.woken {
		p.mu.Lock()
		some, last := p.queue, p.closed
		p.queue = nil
		p.mu.Unlock()
		for _, one := range some {
			switch one := one.(type) {
			case ended:
				p.handOn(one)
			case chan struct{}:
				close(one)
			}
		}
		if last {
			return
		}
	}
}

func (p *EnergySpanProcessor) handOn(e ended) {
	with := &spanWithEnergy{ReadOnlySpan: e.span, attributes: slices.Concat(e.span.Attributes(), attributes(e.task))}
	if p.own { // its tasks are in no file, and there may be many
		p.session.Forget(e.task)
	}
	p.next.OnEnd(with)
}

// spanWithEnergy is a span that has more attributes.
type spanWithEnergy struct {
	sdk.ReadOnlySpan
	attributes []attribute.KeyValue
}

// Attributes of the span, and those of its energy.
func (s *spanWithEnergy) Attributes() []attribute.KeyValue { return s.attributes }

// attributes are those of a task's energy, of which what is not known has none.
func attributes(t *codegreen.Task) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String(prefix+"energy_kind", t.EnergyKind())}
	for _, one := range []struct {
		name   string
		joules float64
	}{
		{"energy_j", t.EnergyJ()}, {"energy_lo_j", t.EnergyLoJ()}, {"energy_hi_j", t.EnergyHiJ()},
		{"program_energy_j", t.ProgramEnergyJ()}, {"program_energy_lo_j", t.ProgramEnergyLoJ()},
		{"program_energy_hi_j", t.ProgramEnergyHiJ()},
	} {
		if !math.IsNaN(one.joules) {
			all = append(all, attribute.Float64(prefix+one.name, one.joules))
		}
	}
	return all
}
