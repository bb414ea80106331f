package nvml

import (
	"fmt"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"cg/nemb"
)

// gpm asks NVML's GPU performance monitoring (nvml.h, nvmlGpm*), which Hopper and later have, and which needs no
// permission to profile. It compares the counters at two moments.
type gpm struct {
	lib   nvml.Interface
	gpu   *gpu
	last  map[int]nvml.GpmSample // of each GPU instance
	asked uint64                 // us since 1970
}

// shortestGPM is the least time between two samples, in microseconds: the driver's own are 100 ms apart.
const shortestGPM = 150_000

func newGPM(lib nvml.Interface, g *gpu) (activity, error) {
	support, code := g.device.GpmQueryDeviceSupport()
	if code != nvml.SUCCESS {
		return nil, &nvmlError{g.id + ": GPM", code}
	}
	if support.IsSupportedDevice == 0 {
		return nil, fmt.Errorf("nvml: %s has no performance monitoring (GPM), which Hopper and later have", g.id)
	}
	return &gpm{lib: lib, gpu: g, last: map[int]nvml.GpmSample{}}, nil
}

func (m *gpm) method() string { return nemb.GPMInstances }

func (m *gpm) since(known []int, micros uint64) (told []active, from, to uint64, err error) {
	if m.asked != 0 && micros < m.asked+shortestGPM {
		return nil, m.asked, m.asked, nil
	}
	samples := map[int]nvml.GpmSample{}
	from = m.asked
	if from == 0 {
		from = micros
	}
	failed := 0
	for _, id := range known {
		a, sample, failure := m.instance(id)
		if failure != nil {
			failed, err = failed+1, failure
		}
		if sample != nil {
			samples[id] = sample
		}
		told = append(told, a)
	}
	free(m.last)
	if m.last, m.asked = samples, micros; err != nil && failed == len(known) {
		return nil, 0, 0, err
	}
	return told, from, micros, nil
}

// instance samples an instance, and tells how active it was since its sample before. Where that is not known its
// activity is NaN, with the error if the driver failed; the sample is nil if it has none.
func (m *gpm) instance(id int) (a active, sample nvml.GpmSample, err error) {
	a = active{id: id, engine: math.NaN(), sms: math.NaN()}
	sample, code := m.lib.GpmSampleAlloc()
	if code != nvml.SUCCESS {
		return a, nil, &nvmlError{m.gpu.id + ": GPM", code}
	}
	err = m.gpu.ask(fmt.Sprintf("GPM of instance %d", id), func(d nvml.Device) nvml.Return {
		return d.GpmMigSampleGet(id, sample)
	})
	if err != nil {
		sample.Free()
		return a, nil, err
	}
	if before := m.last[id]; before != nil {
		var between active
		if between, err = m.between(id, before, sample); err == nil {
			a = between
		}
	}
	return a, sample, err
}

// between is how active an instance was between two samples.
func (m *gpm) between(id int, before, after nvml.GpmSample) (active, error) {
	a := active{id: id}
	var code nvml.Return
	if a.engine, code = m.percent(nvml.GPM_METRIC_GRAPHICS_UTIL, before, after); code != nvml.SUCCESS {
		return active{}, &nvmlError{fmt.Sprintf("%s: GPM of instance %d", m.gpu.id, id), code}
	}
	if a.sms, code = m.percent(nvml.GPM_METRIC_SM_UTIL, before, after); code != nvml.SUCCESS {
		a.sms = math.NaN()
	}
	return a, nil
}

// percent is one metric, as a part. go-nvml 0.13.0-1 has its GpmMetric of another size than nvmlGpmMetric_t, so
// that only the first metric of a call is where NVML writes it: each is asked for alone.
func (m *gpm) percent(metric nvml.GpmMetricId, before, after nvml.GpmSample) (float64, nvml.Return) {
	get := nvml.GpmMetricsGetType{NumMetrics: 1, Sample1: before, Sample2: after}
	get.Metrics[0].MetricId = uint32(metric)
	code := m.lib.GpmMetricsGet(&get)
	if code == nvml.SUCCESS {
		code = nvml.Return(get.Metrics[0].NvmlReturn)
	}
	return get.Metrics[0].Value / 100, code
}

func free(samples map[int]nvml.GpmSample) {
	for _, s := range samples {
		s.Free()
	}
}

func (m *gpm) close() {
	free(m.last)
	m.last = nil
}
