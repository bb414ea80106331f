package sampler

import (
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
