package nemb

import (
	"reflect"
	"testing"
)

// What is divided is all given to somebody who has a weight.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		e       Energy
		weights []float64
		want    []Energy
	}{
		{10, []float64{1, 1}, []Energy{5, 5}},
		{11, []float64{1, 1}, []Energy{6, 5}},
		{10, []float64{1, 3, 1}, []Energy{2, 6, 2}},
		{10, []float64{0, 3, 0}, []Energy{0, 10, 0}},
		{10, []float64{0, 0}, []Energy{0, 0}},
		{0, []float64{1, 2}, []Energy{0, 0}},
		{7, nil, []Energy{}},
	} {
		if got := Split(c.e, c.weights); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Split(%d, %v) = %v, want %v", c.e, c.weights, got, c.want)
		}
	}
}
