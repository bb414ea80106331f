package nvml

import (
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cg/nemb"
)

// blocking is a gauge whose calls wait for the test.
type blocking struct {
	calls  chan chan struct{} // each call, until it is let go
	reads  atomic.Int64
	closed chan struct{}
	err    error // of every call
}

func (b *blocking) Columns() []nemb.Column {
	return []nemb.Column{{Name: "pcie_tx_kib_s", Unit: "KiB/s"}}
}

func (b *blocking) Read(dst []float64) error {
	if b.calls != nil {
		free := make(chan struct{})
		b.calls <- free
		<-free
	}
	dst[0] = float64(b.reads.Add(1))
	return b.err
}

func (b *blocking) Close() error { close(b.closed); return nil }

// A call that hangs leaves no old values standing, and nobody waits for it.
func TestSlowGaugeHangs(t *testing.T) {
	b := &blocking{calls: make(chan chan struct{}), closed: make(chan struct{})}
	var mu sync.Mutex
	at := time.Unix(1000, 0)
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); return at }
	started := make(chan *slowGauge)
	go func() { started <- startSlowGauge(b, time.Millisecond, 50*time.Millisecond, now) }()
	close(<-b.calls)
	s := <-started
	dst := make([]float64, 1)
	if err := s.Read(dst); err != nil || dst[0] != 1 {
		t.Errorf("%v, %v", dst, err)
	}
	hung := <-b.calls // the next call does not come back
	mu.Lock()
	at = at.Add(5 * time.Second)
	mu.Unlock()
	if err := s.Read(dst); err == nil || !strings.Contains(err.Error(), "has not come back for 5s: the GPU hangs") || !math.IsNaN(dst[0]) {
		t.Error(dst, err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "the GPU hangs") {
		t.Errorf("closed: %v", err)
	}
	select {
	case <-b.closed:
		t.Error("the library was closed under a call")
	default:
	}
	close(hung)
	<-b.closed
}

// The same where the call before could not read all of it. Who closes a gauge
// whose call hangs waits no more, however long a call may take.
func TestSlowGaugeHangsAfterAnError(t *testing.T) {
	refused := errors.New("nvml: gpu1: PCIe throughput: timed out")
	b := &blocking{calls: make(chan chan struct{}), closed: make(chan struct{}), err: refused}
	var mu sync.Mutex
	at := time.Unix(1000, 0)
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); return at }
	started := make(chan *slowGauge)
	go func() { started <- startSlowGauge(b, time.Millisecond, time.Hour, now) }()
	close(<-b.calls)
	s := <-started
	dst := make([]float64, 1)
	if err := s.Read(dst); !errors.Is(err, refused) || dst[0] != 1 {
		t.Errorf("%v, %v", dst, err)
	}
	hung := <-b.calls
	mu.Lock()
	at = at.Add(2 * time.Hour)
	mu.Unlock()
	if err := s.Read(dst); err == nil || !strings.Contains(err.Error(), "the GPU hangs") || !math.IsNaN(dst[0]) {
		t.Errorf("an old value stands: %v, %v", dst, err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "the GPU hangs") {
		t.Errorf("closed: %v", err)
	}
	close(hung)
	<-b.closed
}

// The first call may hang, too.
func TestSlowGaugeHangsAtOnce(t *testing.T) {
	b := &blocking{calls: make(chan chan struct{}), closed: make(chan struct{})}
	s := startSlowGauge(b, time.Millisecond, 20*time.Millisecond, time.Now)
	dst := make([]float64, 1)
	if err := s.Read(dst); err == nil || !math.IsNaN(dst[0]) {
		t.Error("it hangs, and is a reading")
	}
	s.Close()
	close(<-b.calls)
	<-b.closed
}

func TestSlowGauge(t *testing.T) {
	b := &blocking{closed: make(chan struct{})}
	s := newSlowGauge(b, time.Millisecond)
	dst := make([]float64, 1)
	for dst[0] < 3 {
		if err := s.Read(dst); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-b.closed
}
