package habits

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/nemb"
	"cg/runtimes"
)

// What was found of a GPU is known of the same one with the same driver, and of no other. A file that is broken is told
// of, and nothing is taken from it.
func TestMemory(t *testing.T) {
	store, err := runtimes.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	gpu := nemb.Device{UUID: "GPU-10101010-1010-1010-1010-101010101010", Name: "NVIDIA H100", Driver: "550.54"}
	at := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	if err := Keep(store, gpu, at, map[string]Fitted{"energy": {Period: 100 * ms, Window: 25 * ms, WindowOff: 2 * ms, Delay: 10 * ms, DelayOff: 3 * ms}}); err != nil {
		t.Fatal(err)
	}
	want := nemb.Habits{Period: 100 * ms, Window: 25 * ms, WindowOff: 2 * ms, Delay: 10 * ms, DelayOff: 3 * ms, Origin: nemb.HabitsMeasured,
		Measured: nemb.HabitsRecord{GPU: "NVIDIA H100", Driver: "550.54", At: at.Truncate(time.Second)}}
	if h, ok, err := Recall(store, gpu, "energy"); h != want || !ok || err != nil {
		t.Errorf("%+v, %v, %v", h, ok, err)
	}
	other, driver, name := gpu, gpu, gpu
	other.UUID, driver.Driver, name.Name = "GPU-20202020-1010-1010-1010-101010101010", "560", "NVIDIA H200"
	for _, d := range []nemb.Device{other, driver, name, {}} {
		if h, ok, err := Recall(store, d, "energy"); ok || err != nil {
			t.Errorf("%+v: %+v, %v", d, h, err)
		}
	}
	if _, ok, err := Recall(store, gpu, "power"); ok || err != nil {
		t.Error(ok, err)
	}
	if err := Keep(store, nemb.Device{UUID: "../../x"}, at, nil); err == nil {
		t.Error("kept of a GPU without a UUID")
	}
	for _, text := range []string{"{", strings.Repeat("x", 10), `{"gpu":"NVIDIA H100","driver":"550.54","readings":{"energy":{"period_ns":-1,"window_ns":5}}}`,
		`{"gpu":"NVIDIA H100","driver":"550.54","readings":{"energy":{"period_ns":100000000,"window_ns":9000000000000000}}}`} {
		if err := os.WriteFile(filepath.Join(store.Dir, gpu.UUID+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, ok, err := Recall(store, gpu, "energy"); ok || err == nil {
			t.Errorf("%s: %+v", text, h)
		}
	}
}
