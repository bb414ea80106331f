package sampler

import (
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// What the program used of GPUs is where nemb/RING.md says, behind the samples.
func TestUsesOfGPUs(t *testing.T) {
	domains := []nemb.Domain{{ID: "package-0", Kind: "cpu_package"}, {ID: "gpu0", Kind: nemb.KindGPU},
		{ID: "gpu1", Kind: nemb.KindGPU}}
	r, err := newRing(domains, checkpoint.Monotonic, time.Millisecond, 16, []GPUReason{{"mig", "it is divided"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	s := &Sampler{ring: r, domains: domains}
	s.TellGPU(2, GPUState{Asked: true, Held: true, Reason: 1})
	s.TellGPU(0, GPUState{Asked: true}) // no GPU
	s.TellGPUsAsked(7)
	for k := range 4097 {
		s.TellGPUUse(1, GPUUse{From: checkpoint.Instant(k), To: checkpoint.Instant(k + 1), Program: 1, Other: 2, Idle: 3,
			Unattributed: 4, Lo: 0.9, Hi: 5.1, Off: 0.1, Reason: 1})
	}
	at := r.at + 16*r.stride
	words := func(offset, n int) (all []uint64) {
		for i := range n {
			all = append(all, *word(r.memory, at+offset+8*i))
		}
		return all
	}
	for _, tt := range []struct {
		name      string
		got, want []uint64
	}{
		{"head", words(0, 1), []uint64{4097}},
		{"when drivers were asked", words(8, 1), []uint64{7}},
		{"states", words(16, 2), []uint64{0, 1 | 2 | 1<<8}},
		{"the newest, over the oldest", words(32, 13), []uint64{2*4096 + 2, 0, 4096, 4097, 10, 1, 2, 3, 4, 0, 6, 1, 1}},
		{"the second", words(32+13*8, 4), []uint64{4, 0, 1, 2}},
	} {
		for i, v := range tt.got {
			if v != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
				break
			}
		}
	}
	if end := at + 32 + 4096*13*8; end != len(r.memory) {
		t.Errorf("the file has %d bytes, want %d", len(r.memory), end)
	}
}

// Readers are told how a counter follows its power where it is late, and nothing of one that is not.
func TestHabitsInTheRing(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		habits nemb.Habits
		want   string
	}{
		{nemb.Habits{Period: 100 * ms, Window: time.Second, Delay: 10 * ms, Origin: nemb.HabitsMeasured},
			`"habits":{"period_ns":100000000,"window_ns":1000000000,"delay_ns":10000000}`},
		{nemb.Habits{Period: 100 * ms, Window: 25 * ms, Origin: nemb.HabitsPublished}, ""},
		{nemb.Habits{}, ""},
	} {
		text, err := aboutRing([]nemb.Domain{{ID: "gpu0", Kind: nemb.KindGPU, Habits: tt.habits}}, nil, nil)
		if has := strings.Contains(string(text), `"habits"`); err != nil || has != (tt.want != "") ||
			!strings.Contains(string(text), tt.want) {
			t.Errorf("%+v: %s, %v", tt.habits, text, err)
		}
	}
}
