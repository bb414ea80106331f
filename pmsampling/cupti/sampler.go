package cupti

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Sampler is PM sampling of one GPU, CUPTI's CUpti_PmSampling_Object.
type Sampler struct {
	l      *Library
	device int
	object unsafe.Pointer
}

// Enable begins PM sampling of a GPU, which one process can do at a time.
func (l *Library) Enable(device int) (*Sampler, error) {
	p := C.struct_cg_cupti_enable{device: C.size_t(device)}
	p.size = C.size_t(unsafe.Sizeof(p))
	err := answered(C.cg_cupti_call(l.c, C.CG_ENABLE, unsafe.Pointer(&p)), "enable PM sampling on GPU %d", device)
	if err != nil {
		return nil, err
	}
	return &Sampler{l, device, p.object}, nil
}

func (s *Sampler) call(function C.int, what string) error {
	p := C.struct_cg_cupti_of_object{object: s.object}
	p.size = C.size_t(unsafe.Sizeof(p))
	return answered(C.cg_cupti_call(s.l.c, function, unsafe.Pointer(&p)), "%s PM sampling on GPU %d", what, s.device)
}

// Start, Stop and Disable are CUPTI's.
func (s *Sampler) Start() error   { return s.call(C.CG_START, "start") }
func (s *Sampler) Stop() error    { return s.call(C.CG_STOP, "stop") }
func (s *Sampler) Disable() error { return s.call(C.CG_DISABLE, "disable") }

// Settings say when a GPU takes samples and what it does when its buffer is full.
type Settings struct {
	Buffer   uint64 // bytes of the hardware buffer
	Interval uint64 // nanoseconds or cycles, as the trigger is
	Trigger  int32  // CUpti_PmSampling_TriggerMode
	Append   int32  // CUpti_PmSampling_HardwareBuffer_AppendMode
}

// Configure sets them. config must not be freed before Disable.
func (s *Sampler) Configure(config *Config, set Settings) error {
	p := C.struct_cg_cupti_set_config{object: s.object, length: config.length, config: (*C.uint8_t)(config.image),
		buffer: C.size_t(set.Buffer), interval: C.uint64_t(set.Interval), trigger: C.int32_t(set.Trigger),
		append: C.int32_t(set.Append)}
	var code C.int32_t
	// The way to append came with 12.8: an older library refuses the longer size, and keeps the oldest records.
	sizes := []uintptr{unsafe.Offsetof(p.append) + 4, unsafe.Offsetof(p.append)}
	if set.Append != 0 {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		p.size = C.size_t(size)
		if code = C.cg_cupti_call(s.l.c, C.CG_SET_CONFIG, unsafe.Pointer(&p)); code != invalidParameter {
			break
		}
	}
	return answered(code, "configure PM sampling on GPU %d", s.device)
}

// Image makes an image of counters for so many samples.
func (s *Sampler) Image(metrics []string, samples int) ([]byte, error) {
	list := namesOf(metrics)
	defer list.free()
	var pin runtime.Pinner
	defer pin.Unpin()
	p := C.struct_cg_cupti_data_size{object: s.object, metrics: list.pinned(&pin), n: C.size_t(len(metrics)),
		samples: C.uint32_t(samples)}
	p.size = C.size_t(unsafe.Sizeof(p))
	err := answered(C.cg_cupti_call(s.l.c, C.CG_DATA_SIZE, unsafe.Pointer(&p)), "size of %d samples", samples)
	if err != nil {
		return nil, err
	}
	if p.length == 0 {
		return nil, &Answer{"size of the samples: 0 bytes", unknown}
	}
	image := make([]byte, p.length)
	pin.Pin(&image[0])
	return image, s.clear(image)
}

// clear makes an image one without samples.
func (s *Sampler) clear(image []byte) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&image[0])
	p := C.struct_cg_cupti_data{object: s.object, length: C.size_t(len(image)), image: (*C.uint8_t)(&image[0])}
	p.size = C.size_t(unsafe.Sizeof(p))
	return answered(C.cg_cupti_call(s.l.c, C.CG_DATA, unsafe.Pointer(&p)), "prepare an image of counters")
}

// Decoded is what a decoding left in an image.
type Decoded struct {
	Total, Populated, Completed int
	Reason                      int32 // CUpti_PmSampling_DecodeStopReason
	Overflow                    bool  // the hardware buffer was full: records are lost, and later calls fail
	Starts, Ends                []int64
}

// Decode moves records of the hardware buffer into an image. What an overflow left is returned without an error.
func (s *Sampler) Decode(image []byte) (Decoded, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&image[0])
	at, length := (*C.uint8_t)(&image[0]), C.size_t(len(image))
	p := C.struct_cg_cupti_decode{object: s.object, image: at, length: length}
	p.size = C.size_t(unsafe.Offsetof(p.overflow) + unsafe.Sizeof(p.overflow))
	err := answered(C.cg_cupti_call(s.l.c, C.CG_DECODE, unsafe.Pointer(&p)), "decode samples of GPU %d", s.device)
	d := Decoded{Reason: int32(p.reason), Overflow: p.overflow != 0}
	if err != nil && !(errors.Is(err, ErrMemory) && d.Overflow) {
		return d, err
	}
	i := C.struct_cg_cupti_info{image: at, length: length}
	i.size = C.size_t(unsafe.Sizeof(i))
	if err := answered(C.cg_cupti_call(s.l.c, C.CG_INFO, unsafe.Pointer(&i)), "count the samples"); err != nil {
		return d, err
	}
	d.Total, d.Populated, d.Completed = int(i.total), int(i.populated), int(i.completed)
	if d.Completed == 0 {
		return d, nil
	}
	starts, ends := make([]C.uint64_t, d.Completed), make([]C.uint64_t, d.Completed)
	t := C.struct_cg_cupti_sample{object: s.object, image: at, length: length}
	t.size = C.size_t(unsafe.Sizeof(t))
	err = answered(C.cg_cupti_times(s.l.c, &t, C.size_t(d.Completed), &starts[0], &ends[0]), "times of the samples")
	if err != nil {
		return d, err
	}
	d.Starts, d.Ends = make([]int64, d.Completed), make([]int64, d.Completed)
	for k := range starts {
		d.Starts[k], d.Ends[k] = int64(starts[k]), int64(ends[k])
	}
	return d, nil
}
