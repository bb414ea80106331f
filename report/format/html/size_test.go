package html

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// withPaths is a run with so many call paths, 30 calls deep, of a fiftieth as many functions, at most those
// that a tree has room for. A few paths have most of the energy, as in programs.
func withPaths(t testing.TB, n int) *report.Run {
	t.Helper()
	r := reporttest.Largest(t)
	random := rand.New(rand.NewPCG(1, uint64(n)))
	many := max(20, min(n/50, 1<<14))
	one := r.Functions[0]
	r.Sites, r.Functions, r.Paths = nil, nil, nil
	used := make([]report.Joules, many)
	kindOf := make([]uint32, n)
	depth := make([]uint8, n)
	for i := range n {
		p := report.Path{Parent: -1}
		if i > 0 {
			p.Parent = int(float64(i) * random.Float64())
			for depth[p.Parent] >= 30 {
				p.Parent = r.Paths[p.Parent].Parent
			}
			depth[i] = depth[p.Parent] + 1
			p.Site = uint32(1 + random.IntN(many))
			if random.IntN(10) == 0 { // recursion
				p.Site = max(1, kindOf[p.Parent])
			}
			kindOf[i] = p.Site
			used[p.Site-1] += report.Joules(1000)
		}
		self := report.Joules(1000 / (0.001 + random.Float64()))
		p.Calls, p.SelfEnergyJ, p.SelfTimeS = uint64(1+random.IntN(1000)), &self, self.Float()/10
		p.CPUTimeS = p.SelfTimeS
		r.Paths = append(r.Paths, p)
	}
	for i := range many {
		f := one
		f.Name, f.File = fmt.Sprintf("package%d.module.f%d", i%40, i), fmt.Sprintf("/src/package%d/module.py", i%40)
		f.Line, f.Calls, f.SelfEnergyJ, f.SelfTimeS = i+1, uint64(i), &used[i], used[i].Float()
		r.Functions = append(r.Functions, f)
		r.Sites = append(r.Sites, report.Site{ID: uint32(i + 1), Name: f.Name, File: f.File, Line: i + 1, EndLine: i + 2,
			Language: f.Language})
	}
	return r
}

// The columns of call paths come out of the page's block as they went in, also those that
// need several bytes, and the energy of a run without any is not known.
func TestBlock(t *testing.T) {
	b := browserOf(t)
	r := withPaths(t, 300)
	big := report.Joules(1<<52 + 1)
	r.Paths[7].SelfEnergyJ, r.Paths[7].Calls, r.Paths[9].Calls = &big, 1<<40+5, 127
	none := reporttest.Example(t, nemb.Unavailable)
	p := open(t, b, "block", reporttest.Write(t, "html", report.Several{r, none}, format.Options{}), 1400, 900)
	p.is(`JSON.stringify(cg.data.runs[0].tree().parents.slice(0, 40))`, func() string {
		list := map[string]int{}
		for i, path := range r.Paths[:40] {
			list[strconv.Itoa(i)] = path.Parent
		}
		out := "{"
		for i := range 40 {
			out += fmt.Sprintf(`"%d":%d,`, i, list[strconv.Itoa(i)])
		}
		return out[:len(out)-1] + "}"
	}())
	p.is(`cg.data.runs[0].tree().columns.energy[7]`, "4503599627.370497")
	p.is(`cg.data.runs[0].tree().columns.calls[7]`, strconv.Itoa(1<<40+5))
	p.is(`cg.data.runs[0].tree().columns.calls[9]`, "127")
	p.is(`cg.data.runs[0].tree().name(5)`, r.Functions[r.Paths[5].Site-1].Name)
	p.is(`cg.data.runs[1].tree().columns.energy`, "undefined")
	p.is(`cg.data.runs[1].tree().size`, strconv.Itoa(len(none.Paths)))
	// What is folded has used as much as before, and no function calls itself in it.
	p.is(`(() => { const r = cg.data.runs[0], a = r.tree(), b = r.folded(); let own = 0, twice = 0; const seen = new Set();
		for (let i = 1; i < b.size; i++) { if (b.kind(i) === b.kind(b.parent(i))) own++; const k = b.parent(i) + ' ' + b.kind(i); if (seen.has(k)) twice++; seen.add(k); }
		return [b.size < a.size, own, twice, Math.abs(a.at('energy', 0) / b.at('energy', 0) - 1) < 1e-9, a.at('calls', 0) === b.at('calls', 0)].join(); })()`,
		"true,0,0,true,true")
	// Turned over, the boxes below the root are what functions used themselves.
	p.is(`(() => { const t = cg.data.runs[0].folded(), i = inverted(t), first = i.below(0), sum = first.reduce((s, n) => s + i.at('calls', n), 0), deep = i.below(first[0]).reduce((s, n) => s + i.at('calls', n), 0);
		return [sum === t.at('calls', 0), deep <= i.at('calls', first[0])].join(); })()`, "true,true")
	// Without workers the page reads the block itself.
	p = open(t, b, "no-worker", reporttest.Write(t, "html", r, format.Options{}), 1400, 900,
		evaluateFirst(`globalThis.Worker = class { constructor() { throw new Error('no workers'); } };`))
	p.is(`cg.data.runs[0].tree().columns.energy[7]`, "4503599627.370497")
	p.quiet()
}

func evaluateFirst(script string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	})
}

// watch notes when the page has its first figures and all call paths, and each task of 50
// ms or longer.
const watch = `globalThis.seen = { tasks: [] };
new PerformanceObserver((l) => { for (const e of l.getEntries()) seen.tasks.push(e.duration); }).observe({ type: 'longtask', buffered: true });
new MutationObserver(() => {
  const d = document.documentElement.dataset;
  for (const k of ['first', 'ready']) if (d[k] && !seen[k]) { seen[k] = -1; const ch = new MessageChannel(); ch.port1.onmessage = () => { seen[k] = performance.now(); }; requestAnimationFrame(() => ch.port2.postMessage(0)); }
}).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-first', 'data-ready'] });`

// steps of somebody who looks at a page, each with how long the browser was held up.
var actions = []struct{ name, script string }{
	{"flame", `document.querySelector('[data-tab=flames]').click()`},
	{"self", `document.querySelector('#flames [data-value=self]').click()`},
	{"icicle", `document.querySelector('#flames [data-value=icicle]').click()`},
	{"calls", `document.querySelector('#flames [data-value=calls]').click()`},
	{"each call", `document.querySelector('#flames [data-value=whole]')?.click()`},
	{"zoom", `document.querySelectorAll('#flame-boxes .box')[3].click()`},
	{"next", `document.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))`},
	{"words", `seek('module.f1')`},
	{"expression", `seek('f1[0-9]$')`},
	{"no search", `seek('')`},
	{"functions", `document.querySelector('[data-tab=functions]').click()`},
	{"by name", `document.querySelector('#functions-table [data-key=name]').click()`},
	{"timeline", `document.querySelector('[data-tab=power]').click()`},
	{"csv", `files.csv(cg.data.runs[0])`},
	{"pprof", `files.pprof(cg.data.runs[0])`},
}

// BenchmarkPage opens pages with 10^3 to 10^6 call paths and does what people do. With
// CG_VIEWERS, a folder with the npm package speedscope, it opens the same paths there, too.
func BenchmarkPage(b *testing.B) {
	// speedscope draws by WebGL, here without a GPU.
	browser, end := newBrowser(b, chromedp.Flag("disable-gpu", false), chromedp.Flag("use-angle", "swiftshader"),
		chromedp.Flag("enable-unsafe-swiftshader", true))
	defer end()
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("paths=%d", n), func(b *testing.B) {
			r := withPaths(b, n)
			for range b.N {
				began := time.Now()
				content := reporttest.Write(b, "html", r, format.Options{})
				b.ReportMetric(time.Since(began).Seconds()*1e3, "write-ms")
				b.ReportMetric(float64(len(content))/1e6, "MB")
				ownPage(b, browser, content)
				if viewers := os.Getenv("CG_VIEWERS"); viewers != "" {
					speedscope(b, browser, viewers, reporttest.Write(b, "speedscope", r, format.Options{}))
				}
			}
		})
	}
}

func ownPage(b *testing.B, browser context.Context, content []byte) {
	var all tasks
	p := open(b, browser, "page", content, 1400, 900, evaluateFirst(watch), all.start())
	p.is(`seen.ready > 0`, "true")
	for _, k := range []string{"first", "ready"} {
		b.ReportMetric(p.number(`seen.`+k), k+"-ms")
	}
	clock, cpu := all.longest(p)
	b.ReportMetric(clock, "load-block-ms")
	b.ReportMetric(cpu, "load-block-cpu-ms")
	mostClock, mostCPU := 0.0, 0.0
	for _, a := range actions {
		var all tasks
		p.do(all.start())
		p.held(a.script)
		clock, cpu := all.longest(p)
		mostClock, mostCPU = max(mostClock, clock), max(mostCPU, cpu)
		b.Logf("%-12s longest task %4.0f ms, the longest by processor time %4.0f ms", a.name, clock, cpu)
	}
	b.ReportMetric(mostClock, "action-block-ms")
	b.ReportMetric(mostCPU, "action-block-cpu-ms")
	p.quiet()
}

// tasks are those of the main threads of pages, as Chromium traces them: while one runs, its page answers nothing.
type tasks struct {
	mu    sync.Mutex
	seen  []traced
	whole chan struct{}
}

// traced is an event of Chromium's trace. Durations are microseconds: of the clock, and of the thread's processor
// time, which other programs of the machine do not lengthen.
type traced struct {
	Name     string
	PID, TID int
	Clock    float64 `json:"dur"`
	CPU      float64 `json:"tdur"`
	Args     struct{ Name string }
}

func (t *tasks) start() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		t.whole = make(chan struct{})
		chromedp.ListenTarget(ctx, func(e any) {
			switch e := e.(type) {
			case *tracing.EventDataCollected:
				for _, v := range e.Value {
					var event traced
					if json.Unmarshal(v, &event) == nil {
						t.mu.Lock()
						t.seen = append(t.seen, event)
						t.mu.Unlock()
					}
				}
			case *tracing.EventTracingComplete:
				select {
				case <-t.whole:
				default:
					close(t.whole)
				}
			}
		})
		return tracing.Start().WithTransferMode(tracing.TransferModeReportEvents).WithTraceConfig(&tracing.TraceConfig{
			IncludedCategories: []string{"toplevel", "disabled-by-default-devtools.timeline", "__metadata"},
			ExcludedCategories: []string{"*"}}).Do(ctx)
	})
}

// longest ends the trace and gives the longest task by the clock, and by processor time, in milliseconds.
func (t *tasks) longest(p *tab) (clock, cpu float64) {
	p.t.Helper()
	p.do(tracing.End())
	select {
	case <-t.whole:
	case <-p.ctx.Done():
		p.t.Fatal(p.ctx.Err())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	main, n := map[[2]int]bool{}, 0
	for _, e := range t.seen {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			main[[2]int{e.PID, e.TID}] = true
		}
	}
	for _, e := range t.seen {
		if main[[2]int{e.PID, e.TID}] && strings.HasSuffix(e.Name, "RunTask") {
			clock, cpu, n = max(clock, e.Clock/1e3), max(cpu, e.CPU/1e3), n+1
		}
	}
	if n == 0 || cpu == 0 {
		p.t.Fatalf("the trace of %d events has no tasks of a page", len(t.seen))
	}
	return clock, cpu
}

// held does something, waits until nothing long has happened for a moment, and gives the longest task of the browser
// after it, in milliseconds; 0 where none took 50 ms.
func (p *tab) held(script string) float64 {
	p.do(chromedp.Evaluate(`seen.tasks = []; setTimeout(() => { `+script+` }); 0`, nil), chromedp.Sleep(time.Second))
	for was := -1.0; ; {
		n := p.number(`seen.tasks.length`)
		if n == was {
			break
		}
		was = n
		p.do(chromedp.Sleep(700 * time.Millisecond))
	}
	return p.number(`Math.max(0, ...seen.tasks)`)
}

func (p *tab) number(script string) float64 {
	p.t.Helper()
	v, err := strconv.ParseFloat(p.value(script), 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// speedscope opens a profile as speedscope's own command does, by a script beside its
// page, and looks at its three views.
func speedscope(b *testing.B, browser context.Context, viewers string, profile []byte) {
	folder, err := os.MkdirTemp("", "cg-speedscope-") // without an =, which ends the address
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "profile.js")
	if err := os.WriteFile(file, fmt.Appendf(nil, "speedscope.loadFileFromBase64('profile.json', '%s')",
		base64.StdEncoding.EncodeToString(profile)), 0o644); err != nil {
		b.Fatal(err)
	}
	page := &url.URL{Scheme: "file", Path: filepath.Join(viewers, "node_modules/speedscope/dist/release/index.html"),
		Fragment: "localProfilePath=" + file}
	ctx, end := chromedp.NewContext(browser)
	defer end()
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()
	p := &tab{t: b, ctx: ctx}
	p.do(chromedp.EmulateViewport(1400, 900), evaluateFirst(watch+`
setInterval(() => { if (!seen.ready && document.querySelector('canvas') && !/^speedscope$/i.test(document.title)) seen.ready = performance.now(); }, 5);`),
		chromedp.Navigate(page.String()))
	for began := time.Now(); p.value(`seen.ready > 0`) != "true"; {
		p.do(chromedp.Sleep(100 * time.Millisecond))
		if took := time.Since(began); took > 4*time.Minute {
			b.Logf("speedscope: not open after %.0f s", took.Seconds())
			return
		}
		if p.value(`document.body.innerText.includes('WebGL')`) == "true" {
			b.Fatalf("speedscope: %s", p.value(`document.body.innerText`))
		}
	}
	b.ReportMetric(p.number(`seen.ready`), "speedscope-ready-ms")
	b.ReportMetric(p.number(`Math.max(0, ...seen.tasks)`), "speedscope-load-block-ms")
	longest := 0.0
	for _, key := range []string{"2", "3", "1"} {
		held := p.held(`window.dispatchEvent(new KeyboardEvent('keypress', { key: '` + key + `', bubbles: true }))`)
		b.Logf("speedscope, view %s held up for %.0f ms", key, held)
		longest = max(longest, held)
	}
	b.ReportMetric(longest, "speedscope-action-block-ms")
}
