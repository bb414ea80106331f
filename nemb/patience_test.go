package nemb

import (
	"math"
	"testing"
	"time"

	"cg/nemb/patience"
)

// A source that hangs before it has opened anything is given up as a whole, and
// what it opens later is closed.
func TestSourceHangs(t *testing.T) {
	defer func(was time.Duration) { patience.Limit = was }(patience.Limit)
	patience.Limit = 100 * time.Millisecond
	end, closed := make(chan struct{}), make(chan struct{})
	sensors, err := openPatient(Source{Name: "odd", Open: func(Root) ([]Sensor, error) {
		<-end
		return []Sensor{closing{closed}}, nil
	}}, Root{}, patience.Limit)
	if sensors != nil || !patience.Hangs(err) || err.Error() != "odd: looking for its sensors: no answer for 100ms: it hangs" {
		t.Errorf("%v, %v", sensors, err)
	}
	close(end)
	<-closed
}

type closing struct{ closed chan struct{} }

func (c closing) Domains() []Domain   { return nil }
func (c closing) Read([]Energy) error { return nil }
func (c closing) Close() error        { close(c.closed); return nil }

// stuckGauge is a gauge whose readings wait for the test.
type stuckGauge struct{ until, closed chan struct{} }

func (g stuckGauge) Columns() []Column        { return []Column{{Name: "power_w"}} }
func (g stuckGauge) Read(dst []float64) error { <-g.until; dst[0] = 1; return nil }
func (g stuckGauge) Close() error             { close(g.closed); return nil }

// A metric that hangs is unknown until it answers.
func TestMetricHangs(t *testing.T) {
	defer func(was time.Duration) { patience.Limit = was }(patience.Limit)
	patience.Limit = 100 * time.Millisecond
	b := stuckGauge{until: make(chan struct{}), closed: make(chan struct{})}
	g, err := openGaugePatient(Metric{Name: "odd", Open: func(Root) (Gauge, error) { return b, nil }}, Root{})
	if err != nil {
		t.Fatal(err)
	}
	dst := []float64{7}
	if err := g.Read(dst); !patience.Hangs(err) || !math.IsNaN(dst[0]) {
		t.Errorf("%v, %v", dst, err)
	}
	close(b.until)
	g.Close()
	<-b.closed
}
