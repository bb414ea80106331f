package html

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// The views of a page have one selection, one search, one set of colours and one address.
func TestWorkspace(t *testing.T) {
	b := browserOf(t)
	example := reporttest.Write(t, "html", reporttest.Example(t, nemb.Measured), format.Options{Source: sampleSource})
	const chosen = `document.querySelector('#chosen').hidden ? '' : document.querySelector('#chosen h2').textContent`

	t.Run("overview", func(t *testing.T) {
		p := open(t, b, "overview", example, 1400, 900)
		p.is(`document.getElementById('sentence').textContent`,
			"55 % of the program’s energy went to shop.stock.prüfsumme itself.")
		p.is(`[...document.querySelectorAll('#dearest-table .name')].map((e) => e.textContent).join()`,
			"shop.stock.prüfsumme,shop.stock.Stock.refill")
		// The first function stands on the first screen.
		p.is(`document.querySelector('#dearest-table tr').getBoundingClientRect().bottom < 900`, "true")
		p.click(`#small-2`)
		p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, "flames")
		p.is(chosen, "shop.stock.prüfsumme")
		p.quiet()
	})
	t.Run("selection", func(t *testing.T) {
		p := open(t, b, "selection", example, 1400, 900)
		p.click(`#dearest-table tr:nth-child(2) .name`)
		p.is(chosen, "shop.stock.Stock.refill")
		said := `[...document.querySelectorAll('#chosen dl dt')].map((e) => e.textContent + ' ' + e.nextSibling.innerText).join('; ').replace(/[\u00a0\s]+/g, ' ')`
		for _, w := range []string{"Self 4.92J", "Inclusive 14.8J", "Found by"} {
			p.is(`(`+said+`).includes(`+fmt.Sprintf("%q", w)+`)`, "true")
		}
		near := `[...document.querySelectorAll('#chosen h3')].map((e) => e.textContent + ': ' + [...e.nextSibling.querySelectorAll('tr')].map((r) => r.innerText.replace(/\s+/g, ' ')).join()).join('; ')`
		p.is(near, "Called by: main.py 14.8J; Calls: shop.stock.prüfsumme 9.84J")
		for view, mark := range map[string]string{"overview": "#dearest-table tr.chosen .name",
			"functions": "#functions-table tr.chosen .name", "flames": "#flame-boxes .chosen"} {
			p.tab(view)
			p.is(`[...document.querySelectorAll('`+mark+`')].map((e) => e.textContent).join()`, "shop.stock.Stock.refill")
		}
		// To the callee, to its source, by key to the next dearer, and away.
		p.click(`#chosen h3:last-of-type + table .name`)
		p.is(chosen, "shop.stock.prüfsumme")
		p.do(chromedp.Evaluate(`[...document.querySelectorAll('#chosen button')].find((e) => e.textContent === 'Source').click()`, nil))
		p.is(`document.querySelector('#source-code .l.at').dataset.line`, "50")
		p.do(chromedp.KeyEvent("j"))
		p.is(chosen, "shop.stock.Stock.refill")
		p.do(chromedp.KeyEvent("k"))
		p.is(chosen, "shop.stock.prüfsumme")
		p.do(chromedp.KeyEvent(kb.Escape))
		p.is(chosen, "")
		p.quiet()
	})
	t.Run("keys", func(t *testing.T) {
		p := open(t, b, "keys", example, 1400, 900)
		p.do(chromedp.KeyEvent("4"))
		p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, "functions")
		p.do(chromedp.KeyEvent("?"))
		p.is(`document.getElementById('keys').open`, "true")
		p.do(chromedp.KeyEvent(kb.Escape))
		p.is(`document.getElementById('keys').open`, "false")
		p.do(chromedp.KeyEvent("/"))
		p.is(`document.activeElement.id`, "search")
		p.do(chromedp.KeyEvent("1")) // is typed, and is no tab
		p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, "functions")
		p.do(chromedp.KeyEvent(kb.Escape))
		p.is(`document.getElementById('search').value`, "")
		p.do(chromedp.KeyEvent("t"))
		p.is(`document.documentElement.dataset.theme`, "light")
		p.do(chromedp.Focus(`#tabs [data-tab=functions]`, chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowLeft))
		p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, "power")
		p.quiet()
	})
	t.Run("search", func(t *testing.T) {
		p := open(t, b, "search", example, 1400, 900)
		told := `document.getElementById('search-found').textContent.replace(/\u00a0/g, ' ')`
		for words, want := range map[string]string{
			`^shop\.stock\.stock`: "1 found, 14.8 J (81.8 %)",
			`shop`:                "2 found, 14.8 J (81.8 %)", // the callee is in its caller, and counts once
			`STOCK\.py$`:          "2 found, 14.8 J (81.8 %)",
			`nobody`:              "nothing found",
			`shop(`:               "not a regular expression: searched as text; nothing found",
		} {
			p.do(chromedp.Evaluate(fmt.Sprintf(`seek(%q)`, words), nil))
			p.is(told, want)
		}
		p.quiet()
	})
	t.Run("search without end", func(t *testing.T) {
		r := reporttest.Example(t, nemb.Measured)
		r.Functions[0].Name = strings.Repeat("a", 80) + "!"
		p := open(t, b, "endless", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		told := `document.getElementById('search-found').textContent.replace(/\u00a0/g, ' ')`
		p.do(chromedp.Evaluate(`seek('(a+)+$')`, nil))
		p.tab("functions") // the page is not held up
		p.is(told, "ended after 1 s: searched as text; nothing found")
		p.do(chromedp.Evaluate(`seek('^a+!$')`, nil)) // by a new worker
		p.is(`document.getElementById('functions-found').textContent`, "1 of 2")
		p.is(told+`.startsWith('1 found')`, "true")
		// What is typed meanwhile is what counts.
		p.do(chromedp.Evaluate(`seek('(a+)+$')`, nil), chromedp.Evaluate(`seek('stock.py$')`, nil))
		p.is(`document.getElementById('functions-found').textContent`, "2 of 2")
		p.quiet()
	})
	t.Run("address", func(t *testing.T) {
		p := open(t, b, "address", example, 1400, 900)
		p.tab("flames")
		p.click(`#flames [data-value="self"]`)
		p.do(chromedp.Evaluate(`choose(cg.data.runs[0].functions.find((f) => f.line === 50))`, nil))
		p.do(chromedp.SendKeys(`#search`, "stock", chromedp.ByQuery))
		p.is(`new URLSearchParams(location.hash.slice(1)).get('search')`, "stock")
		p.tab("power")
		p.do(chromedp.Focus(`#power-plot`, chromedp.ByQuery), chromedp.KeyEvent("+"))
		p.is(`new URLSearchParams(location.hash.slice(1)).has('from')`, "true")
		p.do(chromedp.Sleep(200*time.Millisecond), chromedp.Reload(), chromedp.WaitVisible(`html[data-ready]`, chromedp.ByQuery))
		p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, "power")
		p.is(chosen, "shop.stock.prüfsumme")
		p.is(`document.getElementById('search').value`, "stock")
		p.is(`document.getElementById('power-readout').textContent.startsWith('The whole run')`, "false")
		p.tab("flames")
		p.is(`document.querySelector('#flames [data-value="self"]').getAttribute('aria-pressed')`, "true")
		// An address that somebody made up does nothing.
		p.do(chromedp.Evaluate(`location.hash = '#tab=__proto__&flame.metric=constructor&run=9&function=%3Cb%3E&from=x&__proto__.a=1&constructor.entries=x&search=%28'`, nil))
		p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, "overview")
		p.is(chosen, "")
		p.tab("flames")
		p.is(`document.querySelectorAll('#flame-boxes .box').length`, "3")
		p.quiet()
	})
	t.Run("colours", func(t *testing.T) {
		r := reporttest.Largest(t)
		p := open(t, b, "colours", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		// A package has one hue in the table, the call paths and the first view.
		p.tab("functions")
		hues := `JSON.stringify(((run) => [...document.querySelectorAll('#functions-table tbody tr')].slice(0, 40).map((e) => e.querySelector('.name').textContent).map((name) => [name.split('.')[0], painter(run).hue(name, run.functions.find((f) => f.name === name).file)]))(cg.data.runs[0]))`
		var list [][2]any
		if err := json.Unmarshal([]byte(p.value(hues)), &list); err != nil {
			t.Fatal(err)
		}
		of := map[any]any{}
		for _, k := range list {
			if was, ok := of[k[0]]; ok && was != k[1] {
				t.Errorf("%v has the hues %v and %v", k[0], was, k[1])
			}
			of[k[0]] = k[1]
		}
		p.tab("flames")
		p.is(`(() => { const e = [...document.querySelectorAll('#flame-boxes .box')].find((b) => b.node > 0), run = cg.data.runs[0], t = folded(run.tree()); return painter(run).box(t.name(e.node), t.file(e.node)).startsWith('hsl(' + painter(run).hue(t.name(e.node), t.file(e.node)) + ' '); })()`, "true")
		p.quiet()
	})
	t.Run("names", func(t *testing.T) {
		p := open(t, b, "names", example, 1400, 900)
		for call, want := range map[string]string{
			`shortened('shop.stock.Stock.refill', 30)`: "shop.stock.Stock.refill",
			`shortened('shop.stock.Stock.refill', 15)`: "Stock.refill",
			`shortened('shop.stock.Stock.refill', 6)`:  "refill",
			`shortened('shop.stock.Stock.refill', 5)`:  "…fill",
			`shortened('shop.stock.Stock.refill', 3)`:  "",
			`shortened('a.', 4)`:                       "a.",
			`shortened('test_shop.py::test_none', 16)`: "test_none",
			`shortened('std::vector<a.b>::push', 18)`:  "vector<a.b>::push",
			`shortened('std::vector<a.b>::push', 16)`:  "push",
			`shortened('net/http.(*Server).Serve', 6)`: "Serve",
		} {
			p.is(call, want)
		}
		p.quiet()
	})
	t.Run("recursion", func(t *testing.T) {
		r := reporttest.Example(t, nemb.Measured)
		// prüfsumme calls itself twice, and something else in between.
		deep := r.Paths[2]
		deep.Parent = 2
		r.Paths = append(r.Paths, deep, r.Paths[1])
		r.Paths[4].Parent = 3
		p := open(t, b, "recursion", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		p.tab("flames")
		boxes := `[...document.querySelectorAll('#flame-boxes .box')].map((e) => e.getAttribute('aria-label')).join()`
		p.is(boxes, "main.py,shop.stock.Stock.refill,shop.stock.prüfsumme,shop.stock.Stock.refill")
		whole := p.value(`document.querySelector('#flame-2').style.width`)
		p.click(`#flames [data-value="whole"]`)
		p.is(boxes, "main.py,shop.stock.Stock.refill,shop.stock.prüfsumme,shop.stock.prüfsumme,shop.stock.Stock.refill")
		p.is(`document.querySelector('#flame-2').style.width`, whole)
		// A call within a call of the same function is part of the outer one.
		p.do(chromedp.Evaluate(`choose(cg.data.runs[0].functions.find((f) => f.line === 50))`, nil))
		p.is(`[...document.querySelectorAll('#chosen h3')][0].nextSibling.querySelectorAll('tr').length`, "1")
		p.quiet()
	})
	t.Run("spikes", func(t *testing.T) {
		r := reporttest.Largest(t)
		for i := range r.Samples {
			if w, ok := r.Samples[i].DomainW["package-0"]; ok && i == len(r.Samples)/2 {
				r.Samples[i].DomainW["package-0"] = 1000 * w
			}
		}
		p := open(t, b, "spikes", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		p.tab("power")
		p.is(`[...document.querySelectorAll('#power .hint')].some((e) => e.textContent.includes('marked ▲'))`, "true")
		p.is(`document.getElementById('power-plot').chart.scales.y.max < 1000`, "true")
		p.quiet()
	})
	t.Run("range", func(t *testing.T) {
		r := reporttest.Suite(t, nemb.Measured)
		p := open(t, b, "range", reporttest.Write(t, "html", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1e6)}), 1400, 900)
		p.tab("power")
		p.is(`document.getElementById('range').hidden`, "true")
		p.do(chromedp.Focus(`#power-plot`, chromedp.ByQuery), chromedp.KeyEvent("+")) // 250 to 750 ms
		p.is(`[...document.querySelectorAll('#range-functions tbody tr')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).join('; ')`,
			"app.main</script> 350ms; app.work 250ms")
		p.is(`[...document.querySelectorAll('#range-tests tbody tr')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).join('; ')`,
			"test_shop.py::test_work[1] in part 5.00J 250ms; test_shop.py::test_none 2.00J 100ms")
		// A task that ran now and then, as a range of NVTX does, has its part of its own time.
		p.is(`(() => {
			const run = cg.data.runs[0], t = run.tasks[1], lasted = t.duration_s;
			t.duration_s = 0.04;
			const time = ranIn(run, 0.25, 0.75).tasks.get(t).time;
			t.duration_s = lasted;
			return time.toFixed(3);
		})()`, "0.025")
		p.shot("range")
		p.quiet()
	})
	t.Run("part", func(t *testing.T) {
		r := reporttest.Suite(t, nemb.Measured)
		r.Functions = append(r.Functions, r.Functions[0])
		for i, name := range []string{"app.main</script>", "app.work"} {
			j := report.Joules(2_000_000 * (i + 1))
			r.Functions[i].Line = []int{3, 12}[i]
			r.Functions[i].Name, r.Functions[i].File, r.Functions[i].SelfEnergyJ, r.Functions[i].SelfTimeS = name, "/src/app.py", &j, 1
		}
		p := open(t, b, "part", reporttest.Write(t, "html", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1e6)}), 1400, 900)
		rows := func(table string) string {
			return `[...document.querySelectorAll('#` + table + ` tbody tr')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).join('; ')`
		}
		boxes := `[...document.querySelectorAll('#flame-boxes .box')].map((e) => e.getAttribute('aria-label')).join()`
		p.tab("flames")
		whole := p.value(boxes)
		p.tab("power")
		p.do(chromedp.Focus(`#power-plot`, chromedp.ByQuery), chromedp.KeyEvent("+")) // 250 to 750 ms
		bar := `document.getElementById('part').hidden ? '' : document.getElementById('part').innerText.replace(/\u00a0/g, ' ').split('.')[0]`
		p.is(bar, "250 ms to 750 ms: the machine used 10")
		// main runs itself for 350 ms at 2 W, work in it for 150 and on a thread of its own for 100 ms, at 4 W.
		for view, want := range map[string]string{"overview": "app.work 1.00J 5.0%; app.main</script> 700mJ 3.5%",
			"functions": "app.work app.py:12 by time 2 1.00J 5.0% 1.00J 4.00W 250ms 250ms; app.main</script> app.py:3 by time 0 700mJ 3.5% 1.30J 2.00W 350ms 500ms",
			"tests":     "test_shop.py::test_work[1] in part 5.00J 20.0W 250ms; test_shop.py::test_none 2.00J 20.0W 100ms"} {
			p.tab(view)
			p.is(bar, "250 ms to 750 ms: the machine used 10")
			p.is(rows(strings.Replace(view, "overview", "dearest", 1)+"-table"), want)
		}
		p.tab("flames")
		p.is(boxes, "-m pytest,app.main</script>,app.work,app.work")
		p.is(`document.getElementById('flame-line').innerText.replace(/\u00a0/g, ' ').includes('1.70 J')`, "true")
		p.do(chromedp.Evaluate(`choose(cg.data.runs[0].functions.find((f) => f.name === 'app.work'))`, nil))
		p.is(`document.querySelector('#chosen dd').innerText.replace(/[\s\u00a0]+/g, ' ')`, "1.00J itself in 250 ms, with what it called 1.00 J")
		p.shot("part")
		p.is(`new URLSearchParams(location.hash.slice(1)).get('from')`, "0.250000")
		p.do(chromedp.KeyEvent("r"))
		p.is(boxes, whole)
		p.is(bar, "")
		p.quiet()
	})
	t.Run("narrow", func(t *testing.T) {
		for _, width := range []int64{390, 800, 1280} {
			p := open(t, b, "narrow", example, width, 900)
			for _, view := range []string{"overview", "flames", "power", "functions", "source", "details"} {
				p.tab(view)
				p.do(chromedp.Evaluate(`choose(cg.data.runs[0].functions[0])`, nil))
				p.is(fmt.Sprintf(`document.documentElement.scrollWidth <= %d || '%s '+document.documentElement.scrollWidth`, width, view), "true")
				p.shot(fmt.Sprintf("narrow-%s-%d", view, width))
				p.do(chromedp.Evaluate(`choose(null)`, nil))
			}
			p.quiet()
		}
	})
}

// What the page offers for download is what other programs read.
func TestDownloads(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	r.Functions[0].Name = "=1+2,\"x\""
	used, lo, hi := report.Joules(2_000_000), report.Joules(1_500_000), report.Joules(2_500_000)
	sum := report.Task{Name: "@sum", Depth: 1, StartedAtMonoNs: 1234567890123456, EndedAtMonoNs: 1234567990123456, DurationS: .1}
	sum.EnergyJ, sum.LoJ, sum.HiJ = &used, &lo, &hi
	r.Tasks = append(r.Tasks, sum)
	p := open(t, browserOf(t), "downloads", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
	folder := t.TempDir()
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		return browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(folder).Do(ctx)
	}))
	get := func(ending string) []byte {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector('#download [data-file=%q]').click()`, ending), nil))
		file := filepath.Join(folder, "run-"+r.Meta.RunID+"."+ending)
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if b, err := os.ReadFile(file); err == nil && len(b) > 0 {
				return b
			}
		}
		entries, _ := os.ReadDir(folder)
		t.Fatalf("%s was not saved: %v", file, entries)
		return nil
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
			t.Errorf("%s is %v, not %v", what, got, want)
		}
	}

	rows, err := csv.NewReader(strings.NewReader(string(get("csv")))).ReadAll()
	if err != nil || len(rows) != len(r.Functions)+1 {
		t.Fatalf("CSV: %v, %d rows", err, len(rows))
	}
	if i := slices.IndexFunc(rows, func(row []string) bool { return row[0] == `'=1+2,"x"` }); i < 0 {
		t.Errorf("a name that is like a formula is not quoted: %q", rows)
	}
	rows, err = csv.NewReader(strings.NewReader(string(get("tasks.csv")))).ReadAll()
	if err != nil || len(rows) != 2 || strings.Join(rows[1], " ") != "'@sum 1 1234567890123456 1234567990123456 0.1 2 1.5 2.5 20" {
		t.Errorf("CSV of tasks: %v, %q", err, rows)
	}
	var saved struct {
		Totals    report.Totals
		Functions []struct {
			Name  string
			Joule float64 `json:"self_energy_j"`
		}
	}
	if err := json.Unmarshal(get("json"), &saved); err != nil || len(saved.Functions) != len(r.Functions) {
		t.Fatalf("JSON: %v, %+v", err, saved)
	}
	for i, f := range saved.Functions {
		near("the energy of "+f.Name, f.Joule, r.Functions[i].SelfEnergyJ.Float())
	}
	energy, calls := 0.0, uint64(0)
	for _, path := range r.Paths {
		energy, calls = energy+path.SelfEnergyJ.Float(), calls+path.Calls
	}
	prof, err := profile.ParseData(get("pb"))
	if err != nil {
		t.Fatal(err)
	}
	if err := prof.CheckValid(); err != nil {
		t.Error(err)
	}
	sums := make([]int64, len(prof.SampleType))
	for _, s := range prof.Sample {
		for i, v := range s.Value {
			sums[i] += v
		}
	}
	if prof.SampleType[2].Unit != "microjoules" || prof.DefaultSampleType != "energy" {
		t.Errorf("types %v, %s first", prof.SampleType, prof.DefaultSampleType)
	}
	near("pprof's energy", float64(sums[2])/1e6, energy)
	near("pprof's calls", float64(sums[0]), float64(calls))
	var speed struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Name     string
			EndValue float64
			Samples  [][]int
			Weights  []float64
		}
	}
	if err := json.Unmarshal(get("speedscope.json"), &speed); err != nil || len(speed.Profiles) != 2 {
		t.Fatalf("speedscope: %v, %+v", err, speed)
	}
	near("speedscope's energy", speed.Profiles[0].EndValue, energy)
	if stack := speed.Profiles[0].Samples[len(speed.Profiles[0].Samples)-1]; speed.Shared.Frames[stack[0]].Name != "main.py" {
		t.Errorf("the outermost frame is %+v", speed.Shared.Frames[stack[0]])
	}
	p.quiet()
}

// Every view, light and dark, has names, roles and contrast as WCAG 2.2 AA wants
// (axe-core).
func TestAccessible(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(reporttest.Viewers(t), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	b := browserOf(t)
	one := reporttest.Write(t, "html", reporttest.Suite(t, nemb.Estimated), format.Options{Source: sampleSource})
	two := reporttest.Write(t, "html", report.Several{reporttest.Scaled(t, nemb.Measured, "before", 1),
		reporttest.Scaled(t, nemb.Measured, "after", 1.5)}, format.Options{Names: []string{"before", "after"}})
	for name, content := range map[string][]byte{"one": one, "two": two} {
		for _, night := range []bool{false, true} {
			actions := []chromedp.Action{}
			if night {
				actions = append(actions, dark())
			}
			p := open(t, b, name, content, 1280, 900, actions...)
			p.do(chromedp.Evaluate(string(axe), nil))
			for _, view := range strings.Split(p.value(`[...document.querySelectorAll('#tabs button')].map((b) => b.dataset.tab).join()`), ",") {
				p.tab(view)
				if name == "one" {
					p.do(chromedp.Evaluate(`choose(cg.data.runs[0].functions[0])`, nil))
				}
				var found []string
				p.do(chromedp.Evaluate(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ' (' + v.impact + '): ' + n.html.slice(0, 160) + ' ' + n.failureSummary.replace(/\s+/g, ' '))))`,
					&found, func(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams { return p.WithAwaitPromise(true) }))
				for _, f := range found {
					t.Errorf("%s, %s, dark %v: %s", name, view, night, f)
				}
			}
		}
	}
}
