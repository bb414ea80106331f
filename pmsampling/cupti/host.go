package cupti

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// names are texts in C's memory.
type names struct{ list []*C.char }

func namesOf(all []string) names {
	n := names{make([]*C.char, len(all))}
	for i, text := range all {
		n.list[i] = C.CString(text)
	}
	return n
}

// pinned is the list as C takes it, until the pins are undone.
func (n names) pinned(pin *runtime.Pinner) **C.char {
	if len(n.list) == 0 {
		return nil
	}
	pin.Pin(&n.list[0])
	return &n.list[0]
}

func (n names) free() {
	for _, text := range n.list {
		C.free(unsafe.Pointer(text))
	}
}

// Host knows the metrics of a chip and computes their values. Close it. After an error of Configure it answers nothing
// any more.
type Host struct {
	l    *Library
	Chip string
	host unsafe.Pointer
}

// Host begins with a chip. availability is what Availability gave, nil for all counters; set is the name of a set of
// metrics that fit into one pass (Sets), "" for none.
func (l *Library) Host(chip, set string, availability []byte) (*Host, error) {
	name, single := C.CString(chip), (*C.char)(nil)
	defer C.free(unsafe.Pointer(name))
	p := C.struct_cg_cupti_host{kind: C.CG_CUPTI_PM_SAMPLING, chip: name}
	if l.c.call[C.CG_SETS] != nil {
		p.size = C.size_t(unsafe.Offsetof(p.set) + unsafe.Sizeof(p.set))
	} else if p.size = C.size_t(unsafe.Offsetof(p.set)); set != "" {
		return nil, kindOf(ErrUnsupported, "cupti: sets of metrics begin with CUDA 13.2; this is CUPTI %d", l.Version)
	}
	if set != "" {
		single = C.CString(set)
		defer C.free(unsafe.Pointer(single))
		p.set = single
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	if len(availability) > 0 {
		pin.Pin(&availability[0])
		p.availability = (*C.uint8_t)(&availability[0])
	}
	err := answered(C.cg_cupti_call(l.c, C.CG_HOST, unsafe.Pointer(&p)), "metrics of chip %s", chip)
	if err == nil {
		return &Host{l, chip, p.host}, nil
	}
	var a *Answer
	if chips, _ := l.Chips(); errors.As(err, &a) && a.Code == invalidParameter && !slices.Contains(chips, chip) {
		a.Code = invalidChip
	}
	return nil, err
}

// Close ends it.
func (h *Host) Close() error {
	if h.host == nil {
		return nil
	}
	p := C.struct_cg_cupti_of_host{host: h.host}
	p.size = C.size_t(unsafe.Sizeof(p))
	h.host = nil
	return answered(C.cg_cupti_call(h.l.c, C.CG_HOST_END, unsafe.Pointer(&p)), "end with chip %s", h.Chip)
}

// Kind is how a metric is counted, CUPTI's CUpti_MetricType.
type Kind int32

const (
	Counter Kind = iota
	Ratio
	Throughput
)

// Kinds are all of them.
var Kinds = []Kind{Counter, Ratio, Throughput}

func (k Kind) String() string { return [...]string{"counter", "ratio", "throughput"}[k] }

// Base lists the names of the metrics of a kind, without what is added to them (Suffixes).
func (h *Host) Base(kind Kind) ([]string, error) {
	p := C.struct_cg_cupti_base{host: h.host, _type: C.int32_t(kind)}
	p.size = C.size_t(unsafe.Offsetof(p.n) + unsafe.Sizeof(p.n))
	if err := answered(C.cg_cupti_call(h.l.c, C.CG_BASE, unsafe.Pointer(&p)), "list %s metrics", kind); err != nil {
		return nil, err
	}
	return texts(unsafe.Slice(p.names, p.n)), nil
}

// Suffixes lists what may be added to the name of a metric: .avg, .sum.per_second. CUPTI 12 takes names that have
// one already.
func (h *Host) Suffixes(metric string, kind Kind) ([]string, error) {
	ask := func(metric string) ([]string, error) {
		name := C.CString(metric)
		defer C.free(unsafe.Pointer(name))
		p := C.struct_cg_cupti_sub{host: h.host, _type: C.int32_t(kind), metric: name}
		p.size = C.size_t(unsafe.Offsetof(p.names) + unsafe.Sizeof(p.names))
		err := answered(C.cg_cupti_call(h.l.c, C.CG_SUB, unsafe.Pointer(&p)), "metric %s", metric)
		if err != nil {
			return nil, err
		}
		return texts(unsafe.Slice(p.names, p.n)), nil
	}
	return withSuffix(metric, kind, ask)
}

// withSuffix asks for a metric as it is written, and else with a suffix that each of its kind has.
func withSuffix[T any](metric string, kind Kind, ask func(string) (T, error)) (T, error) {
	answer, err := ask(metric)
	if err != nil && !strings.Contains(metric[strings.LastIndex(metric, "__")+1:], ".") {
		suffix := ".avg"
		if kind == Ratio {
			suffix = ".ratio"
		}
		if again, e := ask(metric + suffix); e == nil {
			return again, nil
		}
	}
	return answer, err
}

// Properties are what the library tells of a metric.
type Properties struct {
	Description string
	Unit        string // of the hardware: sm, dramc
	Dimension   string // of the value: percent, gpc_cycle
}

// Properties describes a metric.
func (h *Host) Properties(metric string, kind Kind) (Properties, error) {
	ask := func(metric string) (Properties, error) {
		name := C.CString(metric)
		defer C.free(unsafe.Pointer(name))
		p := C.struct_cg_cupti_properties{host: h.host, metric: name}
		var code C.int32_t
		// Its last field is of CUDA 13.1: an older library refuses the longer size.
		for _, size := range []uintptr{unsafe.Offsetof(p.scope) + 4, unsafe.Offsetof(p._type) + 4} {
			p.size = C.size_t(size)
			if code = C.cg_cupti_call(h.l.c, C.CG_PROPERTIES, unsafe.Pointer(&p)); code != invalidParameter {
				break
			}
		}
		if err := answered(code, "metric %s", metric); err != nil {
			return Properties{}, err
		}
		return Properties{text(p.description), text(p.unit), text(p.dimension)}, nil
	}
	return withSuffix(metric, kind, ask)
}

// text copies a text that is the library's, which may have none.
func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

// Sets lists the sets of metrics that fit into one pass.
func (l *Library) Sets(chip string) ([]string, error) {
	name := C.CString(chip)
	defer C.free(unsafe.Pointer(name))
	p := C.struct_cg_cupti_sets{chip: name}
	p.size = C.size_t(unsafe.Sizeof(p))
	err := answered(C.cg_cupti_call(l.c, C.CG_SETS, unsafe.Pointer(&p)), "sets of %s", chip)
	if err != nil || p.n == 0 {
		return nil, err
	}
	list := make([]*C.char, p.n)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&list[0])
	p.names = &list[0]
	err = answered(C.cg_cupti_call(l.c, C.CG_SETS, unsafe.Pointer(&p)), "sets of %s", chip)
	return texts(list[:min(int(p.n), len(list))]), err
}

// Config is a schedule for counters, in C's memory: CUPTI keeps a pointer to it while it samples. Free it after that.
type Config struct {
	image  unsafe.Pointer
	length C.size_t
	Passes int // how often the same work has to run to count all: PM sampling can do one
}

// Free gives the memory back.
func (c *Config) Free() {
	C.free(c.image)
	c.image = nil
}

// Configure makes the schedule that counts metrics.
func (h *Host) Configure(metrics []string) (*Config, error) {
	list := namesOf(metrics)
	defer list.free()
	var pin runtime.Pinner
	defer pin.Unpin()
	add := C.struct_cg_cupti_add{host: h.host, metrics: list.pinned(&pin), n: C.size_t(len(metrics))}
	add.size = C.size_t(unsafe.Sizeof(add))
	if err := h.metricError(C.cg_cupti_call(h.l.c, C.CG_ADD, unsafe.Pointer(&add)), metrics); err != nil {
		return nil, err
	}
	size := C.struct_cg_cupti_config_size{host: h.host}
	size.size = C.size_t(unsafe.Sizeof(size))
	err := answered(C.cg_cupti_call(h.l.c, C.CG_CONFIG_SIZE, unsafe.Pointer(&size)), "schedule counters")
	if err != nil {
		return nil, err
	}
	c := &Config{C.calloc(1, size.length), size.length, 0}
	config := C.struct_cg_cupti_config{host: h.host, length: c.length, image: (*C.uint8_t)(c.image)}
	config.size = C.size_t(unsafe.Sizeof(config))
	passes := C.struct_cg_cupti_passes{length: c.length, image: (*C.uint8_t)(c.image)}
	passes.size = C.size_t(unsafe.Sizeof(passes))
	code := C.cg_cupti_call(h.l.c, C.CG_CONFIG, unsafe.Pointer(&config))
	if code == 0 {
		code = C.cg_cupti_call(h.l.c, C.CG_PASSES, unsafe.Pointer(&passes))
	}
	if err := answered(code, "schedule counters"); err != nil {
		c.Free()
		return nil, err
	}
	c.Passes = int(passes.passes)
	return c, nil
}

// metricError is the error of a call that was given metrics: libraries answer that a parameter is invalid for a name
// that they do not know.
func (h *Host) metricError(code C.int32_t, metrics []string) error {
	if code == invalidParameter {
		code = invalidMetricName
	}
	return answered(code, "metrics %s of %s", strings.Join(metrics, ", "), h.Chip)
}

// Evaluate computes the values of n samples of an image, from the first one on: the metrics of one sample after those
// of another.
func (h *Host) Evaluate(image []byte, metrics []string, first, n int) ([]float64, error) {
	if n == 0 || len(metrics) == 0 {
		return nil, nil
	}
	if len(image) == 0 {
		return nil, fmt.Errorf("cupti: %d samples have no counters", n)
	}
	list := namesOf(metrics)
	defer list.free()
	values := make([]float64, n*len(metrics))
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&image[0])
	pin.Pin(&values[0])
	p := C.struct_cg_cupti_evaluate{host: h.host, image: (*C.uint8_t)(&image[0]), length: C.size_t(len(image)),
		index: C.size_t(first), metrics: list.pinned(&pin), n: C.size_t(len(metrics)), values: (*C.double)(&values[0])}
	p.size = C.size_t(unsafe.Sizeof(p))
	return values, answered(C.cg_cupti_evaluate_samples(h.l.c, &p, C.size_t(n)), "evaluate %s of counters of %s",
		strings.Join(metrics, ", "), h.Chip)
}
