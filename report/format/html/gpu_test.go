package html

import (
	"testing"

	"github.com/chromedp/chromedp"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// Whose the energy of GPUs was in the tasks of a session stands below the tasks.
func TestGPUsOfTasks(t *testing.T) {
	r := reporttest.Suite(t, nemb.Measured)
	j := func(v float64) *report.Joules { j := report.Joules(v * 1e6); return &j }
	r.Tasks[1].GPUs = []report.TaskGPU{
		{Domain: "gpu0", Method: "process", EnergyJ: j(325), ProgramEnergyJ: j(180), ProgramEnergyLoJ: j(170), ProgramEnergyHiJ: j(195), OtherJ: *j(60), IdleJ: *j(85)},
		{Domain: "gpu1", Method: "unattributed", Reason: "mig", EnergyJ: j(30), UnattributedJ: *j(30)},
	}
	p := open(t, browserOf(t), "gpu-tasks", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
	p.tab("tests")
	p.is(`[...document.querySelectorAll('#taskgpus-table tbody tr')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).join('; ')`,
		"test_shop.py::test_work[1] gpu0 process 180J 60.0J 85.0J 0J; test_shop.py::test_work[1] gpu1 unattributed ? 0J 0J 30.0J")
	p.is(`document.querySelector('#taskgpus-table tbody tr:nth-child(2) [title="mig"]').innerText.replace(/\s+/g, '')`, "30.0J")
	p.shot("gpu-tasks")
	p.quiet()
}

// What ran on GPUs has a view, a lane of the timeline and the search, also without calls over time.
func TestGPU(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	use := func(j float64) report.GPUUse {
		at := func(v float64) *report.Joules { j := report.Joules(v * 1e6); return &j }
		return report.GPUUse{EnergyJ: at(j), EnergyLoJ: at(j * .9), EnergyHiJ: at(j * 1.1)}
	}
	watts, between := 200.0, report.Joules(1_500_000)
	r.GPUs = &report.GPUs{
		Method: report.ByKernel, BetweenKernelsJ: &between,
		Kernels: []report.GPUKernel{
			{Domain: "gpu0", Name: "forward<float>(float const*, int)", Kind: "kernel", Runs: 2, TimeS: .3, GPUUse: use(60),
				AvgPowerW: &watts, LaunchedBy: []string{"shop.stock.prüfsumme", report.OutsideFunctions}},
			{Domain: "gpu1", Name: "copy to the GPU", Kind: "copy", Runs: 1, TimeS: .1, Bytes: 4096, GPUUse: use(2),
				LaunchedBy: []string{"shop.stock.Stock.refill"}},
		},
		Functions: []report.GPUFunction{
			{Name: "shop.stock.prüfsumme", File: "/home/u/shop/stock.py", Line: 50, Launches: 2, SelfTimeS: .3, TimeS: .3,
				Self: use(60), Inclusive: use(60)},
			{Name: report.OutsideFunctions, Launches: 1, SelfTimeS: .1, TimeS: .1, Self: use(2), Inclusive: use(2)},
		},
		KernelRuns: []report.GPURun{
			{Kernel: 0, Site: 2, StartedAtMonoNs: 300_000_000, EndedAtMonoNs: 500_000_000},
			{Kernel: 0, StartedAtMonoNs: 400_000_000, EndedAtMonoNs: 500_000_000},
			{Kernel: 1, StartedAtMonoNs: 600_000_000, EndedAtMonoNs: 700_000_000},
		},
	}
	b := browserOf(t)
	rows := func(selector string) string {
		return `[...document.querySelectorAll('` + selector + `')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).join('; ')`
	}
	p := open(t, b, "gpu", reporttest.Write(t, "html", r, format.Options{Source: sampleSource}), 1400, 900)
	p.tab("gpu")
	p.is(rows("#kernels-table tbody tr"), "forward<float>(float const*, int) gpu0 2 60.0J 200W 300ms shop.stock.prüfsumme and 1 more; "+
		"copy to the GPU copy gpu1 1 2.00J ? 100ms shop.stock.Stock.refill")
	p.is(rows("#kernels .hint"), "Between kernels the program used 1.50 J.")
	p.is(rows("#gpufunctions-table tbody tr"), "shop.stock.prüfsumme stock.py:50 2 60.0J 60.0J 300ms 300ms; outside functions 1 2.00J 2.00J 100ms 100ms")
	p.shot("gpu")
	p.click(`#gpufunctions-table button.name`)
	p.is(`document.querySelector('#chosen h2').textContent`, "shop.stock.prüfsumme")
	p.do(chromedp.Evaluate(`seek('^forward')`, nil))
	p.is(rows("#kernels-found"), "1 of 2")
	p.do(chromedp.Evaluate(`seek('')`, nil))
	lanes := func(want string) {
		t.Helper()
		p.tab("power")
		p.is(`cg.data.runs[0].timeline.gpus.map((g) => g.name + ' ' + g.depth.join()).join('; ')`, "gpu0 0,1; gpu1 0")
		p.is(`document.getElementById('calls-told').textContent.endsWith('On GPUs: all 3 kernels and copies.')`, "true")
		// The lanes of GPUs stand below those of threads; the pointer is on the second row of the first.
		p.do(chromedp.Evaluate(`(() => {
			const c = document.getElementById('calls'), b = c.getBoundingClientRect();
			const rows = cg.data.runs[0].timeline.threads.reduce((n, t) => n + (1 + Math.max(...t.depth)) * laneRow + laneGap, 0);
			const end = cg.data.runs[0].samples.t_us.at(-1) * 1e-6, x = 64 + 0.45 / end * (b.width - 64 - 28);
			c.dispatchEvent(new PointerEvent('pointermove', { clientX: b.left + x, clientY: b.top + rows + 1.5 * laneRow }));
		})()`, nil))
		p.is(`document.getElementById('calls-told').textContent.replace(/\u00a0/g, ' ')`, want)
		p.shot("gpu-lane")
	}
	lanes("forward<float>(float const*, int) for 100 ms from 400 ms on, on gpu0 · by its power ~20.0 J")
	p.quiet()

	r.LongCalls = nil
	p = open(t, b, "gpu-alone", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
	lanes("forward<float>(float const*, int) for 100 ms from 400 ms on, on gpu0 · by its power ~20.0 J")
	p.do(chromedp.Focus(`#power-plot`, chromedp.ByQuery), chromedp.KeyEvent("+"))
	p.is(rows("#part b"), "275 ms to 825 ms")
	p.quiet()
}
