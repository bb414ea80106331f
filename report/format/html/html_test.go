package html

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"cg/nemb"
	"cg/nemb/condition"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// sampleSource is a file for every function of the examples.
func sampleSource(file string) ([]byte, time.Time, error) {
	if strings.HasSuffix(file, "test_shop.py") {
		return nil, time.Time{}, fs.ErrNotExist
	}
	var b strings.Builder
	for i := range 80 {
		fmt.Fprintf(&b, "    line %d of </script> %s\n", i+1, filepath.Base(file))
	}
	return []byte(b.String()), time.Unix(0, 0), nil
}

// stamped gives the stamps that depend on the moment fixed values.
func stamped(runs ...*report.Run) {
	for _, r := range runs {
		r.Meta.EndedAt, r.Meta.StartedAtLocal = "2026-01-02T03:04:06.000000+00:00", "2026-01-02T03:04:05.000000+00:00"
	}
}

// The page needs less than a megabyte beside the run, and nothing from outside.
func TestPageIsSmallAndClosed(t *testing.T) {
	b := reporttest.Write(t, "html", reporttest.Example(t, nemb.Measured), format.Options{})
	if len(b) > 1<<20 {
		t.Errorf("%d bytes", len(b))
	}
	text := string(b)
	if !strings.Contains(text, `content="default-src &#39;none&#39;; script-src &#39;sha256-`) {
		t.Error("there is no policy")
	}
	for _, outside := range []string{`src="`, `href="http`, "@import", "url("} {
		if strings.Contains(text, outside) {
			t.Errorf("the page asks for something: %s", outside)
		}
	}
	for _, w := range []string{"MIT License", "<noscript>", "shop.stock.prüfsumme"} {
		if !strings.Contains(text, w) {
			t.Errorf("no %q", w)
		}
	}
}

func TestPageSources(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	r.Meta.StartedAt = "2026-01-02T03:04:05.000000+00:00"
	for i, file := range []string{"/plain.py", "/none.py", "/long.py", "/binary.py", "/newer.py"} {
		f := r.Functions[0]
		f.File = file
		if i == 0 {
			r.Functions = nil
		}
		r.Functions = append(r.Functions, f)
	}
	got := pageSources([]*report.Run{r, r}, format.Options{Source: func(file string) ([]byte, time.Time, error) {
		switch file {
		case "/none.py":
			return nil, time.Time{}, fs.ErrNotExist
		case "/long.py":
			return bytes.Repeat([]byte("x"), report.MostSource+1), time.Time{}, nil
		case "/binary.py":
			return []byte("\xff\x00"), time.Time{}, nil
		case "/newer.py":
			return []byte("text"), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), nil
		}
		return []byte("text"), time.Time{}, nil
	}})
	for file, want := range map[string]pageSource{
		"/plain.py": {"text", ""}, "/none.py": {"", "file does not exist"},
		"/long.py":   {"", "left out: of a file 1048576 bytes are taken, and it has more"},
		"/binary.py": {"", "left out: it is no UTF-8"},
		"/newer.py":  {"text", "changed since the run: lines may have moved"},
	} {
		if got[file] != want {
			t.Errorf("%s: %+v", file, got[file])
		}
	}
}

// A page is driven as people do: offline, with mouse and keyboard.
func TestPage(t *testing.T) {
	b := browserOf(t)

	t.Run("tests", func(t *testing.T) {
		r := reporttest.Suite(t, nemb.Estimated)
		stamped(r)
		p := open(t, b, "tests", reporttest.Write(t, "html", r, format.Options{Source: sampleSource}), 1400, 900)
		reporttest.Golden(t, filepath.Join("testdata", "page-tests.txt"), p.words())
		p.shot("tests")
		p.quiet()
	})
	t.Run("gauges", func(t *testing.T) {
		r := reporttest.Suite(t, nemb.Estimated)
		r.Tasks[1].Gauges = map[string]report.Gauge{
			"coretemp-0_temp1_c": {Mean: 45.54, Min: 40, Max: 51.25, Readings: 120}, "cpu_clock_mhz": {Mean: 2000, Min: 2000, Max: 2000, Readings: 1}}
		p := open(t, b, "gauges", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		p.click(`[data-tab=tests]`)
		p.is(`[...document.querySelectorAll('#gauges tbody tr')].map((r) => [...r.cells].map((c) => c.innerText.trim()).join(' ')).join(', ')`,
			r.Tasks[1].Name+" cpu_clock_mhz 2000 2000 2000 1, "+r.Tasks[1].Name+" coretemp-0_temp1_c 45.5 40 51.3 120")
		p.quiet()
	})
	t.Run("unknown", func(t *testing.T) {
		r := reporttest.Example(t, nemb.Unavailable)
		stamped(r)
		p := open(t, b, "unknown", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		reporttest.Golden(t, filepath.Join("testdata", "page-unknown.txt"), p.words())
		p.is(`document.querySelector('.big .value').textContent`, "?")
		p.is(`document.querySelector('#power-plot')`, "null")
		p.click(`[data-tab=overview]`)
		p.click(`#warnings summary`)
		p.click(`#warnings li summary`)
		p.is(`document.querySelector('#warnings li details p').textContent.startsWith('Some files or functions of the program ran without checkpoints')`, "true")
		p.quiet()
	})
	t.Run("bare", func(t *testing.T) {
		// A file with next to nothing in it is a run, too.
		r, err := report.Read([]byte(`{"meta": {"schema_version": "1"}, "functions": [{"name": "f"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, runs := range [][]*report.Run{{r}, {r, reporttest.Example(t, nemb.Measured)},
			{reporttest.Example(t, nemb.Measured), r, reporttest.Suite(t, nemb.Estimated)}} {
			p := open(t, b, "bare", reporttest.Write(t, "html", report.Together(runs), format.Options{}), 700, 900)
			if len(runs) > 1 {
				p.is(`document.querySelectorAll('#beside thead th').length`, "4") // two runs have a column of changes
				for i := range runs {
					p.click(fmt.Sprintf(`#runs [data-value="%d"]`, i))
				}
			} else {
				p.is(`document.querySelector('.badge').textContent`, "not known")
			}
			p.quiet()
		}
	})
	t.Run("table", func(t *testing.T) {
		p := open(t, b, "table", reporttest.Write(t, "html", reporttest.Example(t, nemb.Measured), format.Options{}), 1400, 900)
		p.tab("functions")
		names := `[...document.querySelectorAll('#functions-table tbody .name')].map((e) => e.textContent).join()`
		p.is(names, "shop.stock.prüfsumme,shop.stock.Stock.refill")
		p.click(`#functions-table [data-key="self"]`) // it is sorted by this, falling
		p.is(names, "shop.stock.Stock.refill,shop.stock.prüfsumme")
		p.is(`document.querySelector('#functions-table [data-key="self"]').parentNode.ariaSort`, "ascending")
		p.click(`#functions-table [data-key="total"]`)
		p.is(names, "shop.stock.Stock.refill,shop.stock.prüfsumme")
		p.click(`#functions-table [data-key="name"]`)
		p.is(names, "shop.stock.prüfsumme,shop.stock.Stock.refill")
		p.do(chromedp.SendKeys(`#search`, "REFILL", chromedp.ByQuery))
		p.is(names, "shop.stock.Stock.refill")
		p.is(`document.getElementById('functions-found').textContent`, "1 of 2")
		p.click(`#functions-table tbody button.name`)
		p.is(`document.querySelector('#chosen h2').textContent`, "shop.stock.Stock.refill")
		p.tab("flames")
		p.is(`document.querySelectorAll('#flame-boxes .hit').length`, "1")
		p.is(`document.querySelectorAll('#flame-boxes .chosen').length`, "1")
		p.quiet()
	})
	t.Run("flame", func(t *testing.T) {
		r := reporttest.Example(t, nemb.Measured)
		p := open(t, b, "flame", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		p.tab("flames")
		boxes := `[...document.querySelectorAll('#flame-boxes .box')].map((e) => e.textContent).join()`
		p.is(boxes, "main.py,shop.stock.Stock.refill,shop.stock.prüfsumme")
		// Boxes are as wide as energies.
		p.is(`Math.round(1000 * parseFloat(document.getElementById('flame-1').style.width) / parseFloat(document.getElementById('flame-0').style.width))`,
			fmt.Sprintf("%.0f", 1000*float64(*r.Functions[1].InclusiveEnergyJ)/float64(*r.Totals.ProgramEnergyJ)))
		p.do(chromedp.SendKeys(`#search`, "^shop.*PRÜF", chromedp.ByQuery))
		p.is(`[...document.querySelectorAll('#flame-boxes .hit')].map((e) => e.textContent).join()`,
			"shop.stock.prüfsumme")
		p.is(`document.getElementById('search-found').textContent.replace(/\u00a0/g, ' ')`, "1 found, 9.84 J (54.5 %)")
		p.click(`#flame-2`)
		p.is(`document.getElementById('flame-boxes').dataset.zoom`, "shop.stock.prüfsumme")
		p.is(`document.querySelectorAll('#flame-boxes .above').length`, "2")
		p.do(chromedp.KeyEvent(kb.Escape))
		p.is(`document.getElementById('flame-boxes').dataset.zoom`, "main.py")
		// Down to the dearest callee, zoom, up, and all again.
		p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
		p.is(`document.getElementById('flame-boxes').dataset.zoom`, "shop.stock.Stock.refill")
		p.do(chromedp.KeyEvent(kb.ArrowDown))
		p.is(`document.getElementById('flame-line').textContent.replace(/\u00a0/g, ' ')`,
			"shop.stock.prüfsumme stock.py:50 · 9.84 J (54.5 %), itself 9.84 J · 600 ms · 1 call")
		p.click(`#flame-reset`)
		p.is(`document.getElementById('flame-boxes').dataset.zoom`, "main.py")
		// Self: the first row is what functions used themselves.
		p.click(`#flames [data-value="self"]`)
		p.is(`[...document.querySelectorAll('#flame-boxes .box')].filter((e) => e.style.top === '21px').map((e) => e.textContent).join()`,
			"shop.stock.prüfsumme,shop.stock.Stock.refill,main.py")
		p.click(`#flames [data-value="flame"]`)
		p.click(`#flames [data-value="calls"]`)
		p.is(`document.getElementById('flame-0').style.bottom`, "0px")
		p.quiet()
	})
	t.Run("power", func(t *testing.T) {
		p := open(t, b, "power", reporttest.Write(t, "html", reporttest.Suite(t, nemb.Measured), format.Options{}), 1400, 900)
		p.tab("power")
		said := `document.getElementById('power-readout').textContent.replace(/\u00a0/g, ' ')`
		p.is(said, "The whole run, 1.00 s · package-0 20.0 J at 20.0 W")
		p.do(chromedp.Focus(`#power-plot`, chromedp.ByQuery), chromedp.KeyEvent("+"))
		p.is(said, "250 ms to 750 ms, 500 ms · package-0 10.0 J at 20.0 W")
		p.do(chromedp.KeyEvent(kb.ArrowRight))
		p.is(said, "350 ms to 850 ms, 500 ms · package-0 10.0 J at 20.0 W")
		p.is(`[...document.querySelectorAll('#lanes .task')].map((e) => e.textContent).join()`,
			"-m pytest,test_shop.py::test_work[1],test_shop.py::test_none")
		p.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
		p.is(`[...document.querySelectorAll('#lanes .task')].map((e) => e.textContent).join()`,
			"-m pytest,test_shop.py::test_none")
		p.do(chromedp.KeyEvent("0"))
		p.is(said, "The whole run, 1.00 s · package-0 20.0 J at 20.0 W")
		// Dragging zooms in, in the chart and in the strip below it.
		drag := func(selector string, from, to float64) {
			p.do(chromedp.ScrollIntoView(selector, chromedp.ByQuery))
			var box struct{ X, Y, W, H float64 }
			p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const b = document.querySelector(%q).getBoundingClientRect(); return { X: b.x, Y: b.y, W: b.width, H: b.height }; })()`, selector), &box))
			at := func(kind input.MouseType, part float64) {
				p.do(input.DispatchMouseEvent(kind, box.X+part*box.W,
					box.Y+box.H/2).WithButton(input.Left).WithButtons(1).WithClickCount(1))
			}
			at(input.MouseMoved, from)
			at(input.MousePressed, from)
			at(input.MouseMoved, (from+to)/2)
			at(input.MouseMoved, to)
			at(input.MouseReleased, to)
		}
		drag(`#power-plot .u-over`, 0.2, 0.7)
		p.is(`Math.round(10 * document.getElementById('power-plot').dataset.from)+','+Math.round(10 * document.getElementById('power-plot').dataset.to)`, "2,7")
		p.click(`#power-all`)
		p.is(`document.getElementById('part').hidden`, "true") // what stands below it has moved
		drag(`#strip`, 0.5, 0.9)
		p.is(`Math.round(10 * document.getElementById('power-plot').dataset.from)+','+Math.round(10 * document.getElementById('power-plot').dataset.to)`, "5,9")
		drag(`#strip`, 0.7, 0.4) // the window is moved
		p.is(`Math.round(10 * document.getElementById('power-plot').dataset.from)+','+Math.round(10 * document.getElementById('power-plot').dataset.to)`, "2,6")
		p.quiet()
	})
	t.Run("themes", func(t *testing.T) {
		const ground = `getComputedStyle(document.body).backgroundColor`
		p := open(t, b, "themes", reporttest.Write(t, "html", reporttest.Example(t, nemb.Measured), format.Options{}), 1400, 900, dark())
		night := p.value(ground)
		p.click(`#theme [data-value="light"]`)
		day := p.value(ground)
		p.click(`#theme [data-value="dark"]`)
		p.is(ground, night)
		if day == night {
			t.Errorf("light and dark are both %s", day)
		}
		p.do(emulation.SetEmulatedMedia())
		p.is(ground, night)
		p.click(`#theme [data-value="auto"]`)
		p.is(ground, day)
		p.quiet()
	})
	t.Run("calls", func(t *testing.T) {
		r := reporttest.Suite(t, nemb.Measured)
		p := open(t, b, "calls", reporttest.Write(t, "html", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1e6)}), 1400, 900)
		p.tab("power")
		told := `document.querySelector('#calls-told').textContent`
		said := "Calls: all 4 stretches of calls. A click on one zooms to it and selects its function."
		p.is(told, said)
		p.do(chromedp.ScrollIntoView(`#calls`, chromedp.ByQuery))
		mouse := func(kind input.MouseType, at, y float64) {
			var box struct{ X, Y, W float64 }
			p.do(chromedp.Evaluate(`(() => { const b = document.querySelector('#calls').getBoundingClientRect(); return { X: b.x + 64, Y: b.y, W: b.width - 64 - 28 }; })()`, &box))
			p.do(input.DispatchMouseEvent(kind, box.X+at*box.W,
				box.Y+y).WithButton(input.Left).WithButtons(1).WithClickCount(1))
		}
		// over moves the mouse, anew while the page is still being laid out.
		over := func(at, y float64, want string) {
			mouse(input.MouseMoved, at, y)
			for end := time.Now().Add(5 * time.Second); p.value(told) != want && time.Now().Before(end); {
				p.do(chromedp.Sleep(50 * time.Millisecond))
				mouse(input.MouseMoved, at, y)
			}
			p.is(told, want)
		}
		// Threads lie below each other, of the first the outer call in the first row.
		over(0.7, 5, "app.main</script> for 800\u00a0ms from 100\u00a0ms on, in thread 7 of process 7")
		over(0.45, 18, "app.work for 100\u00a0ms from 400\u00a0ms on, in thread 7 of process 7")
		over(0.35, 38, "app.work for 100\u00a0ms from 300\u00a0ms on, in thread 8 of process 7")
		over(0.95, 5, said)
		// Each has its colour on the canvas, and nothing stands where no call was.
		p.is(`(() => {
			const c = document.querySelector('#calls'), k = devicePixelRatio, all = c.getContext('2d').getImageData(0, 0, c.width, c.height);
			const drawn = (at, y) => all.data[4 * (Math.round(k * (64 + at * (c.clientWidth - 92))) + c.width * Math.round(k * y)) + 3];
			return [drawn(0.7, 5), drawn(0.45, 18), drawn(0.7, 18), drawn(0.05, 5)];
		})()`, "255,255,0,0")
		mouse(input.MousePressed, 0.45, 18)
		mouse(input.MouseReleased, 0.45, 18)
		p.is(`document.querySelector('#power-readout').textContent.split(' · ')[0]`,
			"395\u00a0ms to 505\u00a0ms, 110\u00a0ms")
		p.shot("calls")
		p.quiet()
	})
	t.Run("print", func(t *testing.T) {
		r := reporttest.Suite(t, nemb.Measured)
		p := open(t, b, "print", reporttest.Write(t, "html", r, format.Options{}), 1400, 900, dark())
		p.do(chromedp.Evaluate(`addEventListener('beforeprint', () => { window.paper = document.documentElement.dataset.theme + theme.color('--ink'); })`, nil))
		var pdf []byte
		p.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
			pdf, _, err = cdppage.PrintToPDF().WithPrintBackground(true).Do(ctx)
			return err
		}))
		onPaper(t, pdf, r)
		p.is(`window.paper`, "light#1f2326") // charts have ink for paper
		p.is(`document.documentElement.dataset.theme`, "undefined")
		p.quiet()
	})
	t.Run("lines", func(t *testing.T) {
		p := open(t, b, "lines", reporttest.Write(t, "html", reporttest.Lines(t), format.Options{Source: sampleSource}), 1400, 900)
		p.tab("source")
		p.is(`[...document.querySelectorAll('#source-code .l')].filter((l) => l.querySelector('.place').textContent).map((l) => l.dataset.line + ' ' + l.querySelector('.place').textContent.replace(/\s/g, ' ')).join('; ')`,
			"50 rest 2.46J; 52 2.46J ×1 001; 53 4.92J ×1 000")
		p.is(`document.querySelector('[data-line="53"] .place').title.replace(/\s/g, ' ')`, "this line: 4.92 J, 300 ms, come to 1 000 times")
		// The dearest line has the whole colour, one that took no time the least.
		p.is(`[52, 53, 54].map((n) => document.querySelector('[data-line="' + n + '"] .stripe').style.background.match(/\d+%/)[0]).join()`, "57%,100%,15%")
		p.is(`document.querySelector('#source .hint').textContent.includes('divided among its lines by time')`, "true")
		p.shot("lines")
		p.quiet()
	})
	t.Run("inner", func(t *testing.T) {
		r := reporttest.Inner(t)
		p := open(t, b, "inner", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		p.tab("functions")
		p.click(`#functions tbody button.name`)
		p.is(`[...document.querySelectorAll('#chosen h3')].map((h) => h.innerText).join()`, "Inside it, sampled,Called by")
		p.is(`[...document.querySelector('#chosen h3 + table').rows].map((r) => [...r.cells].map((c) => c.innerText.replace(/\s/g, ' ')).join(' ')).join('; ')`,
			"fast::sum<int> 300 7.38J; fast::average 40 984mJ")
		p.is(`document.querySelector('#chosen h3 + table td[title]').title.replace(/\s/g, ' ')`, "6.64 to 8.11 J")
		p.shot("inner")
		p.quiet()
	})
	t.Run("source", func(t *testing.T) {
		p := open(t, b, "source", reporttest.Write(t, "html", reporttest.Example(t, nemb.Measured), format.Options{Source: sampleSource}), 1400, 900)
		p.tab("source")
		// What no function with energy has is folded; the first function ends in line 39, the second in line 59.
		p.is(`[...document.querySelectorAll('#source-code .fold')].map((e) => e.dataset.from + '-' + e.dataset.to + ' ' + e.textContent.replace(/\u00a0/g, ' ')).join('; ')`,
			"1-27 27 lines folded; 43-47 5 lines folded; 63-80 18 lines folded")
		p.is(`document.querySelectorAll('#source-code .l').length`, "30")
		p.click(`#source-code .fold`)
		p.is(`document.querySelectorAll('#source-code .l').length+','+document.querySelectorAll('#source-code .fold').length`, "57,2")
		p.click(`#source [data-value="all"]`)
		p.is(`document.querySelectorAll('#source-code .l').length`, "80")
		p.is(`[...document.querySelectorAll('#source-code .first')].map((e) => e.dataset.line + ' ' + e.querySelector('.cost').textContent).join()`, "30 4.92J,50 9.84J")
		p.tab("functions")
		p.click(`#functions-table tbody tr:first-child button.where`)
		p.is(`document.querySelector('#tabs [aria-selected=true]').dataset.tab`, "source")
		p.is(`document.querySelector('#source-code .l.at').dataset.line`, "50")
		p.shot("source")
		p.quiet()
	})
	t.Run("compare", func(t *testing.T) {
		before, after := reporttest.Example(t, nemb.Measured), reporttest.Example(t, nemb.Measured)
		before.Meta.RunID = "before"
		lo, hi := report.Joules(700_000), report.Joules(21_000_000)
		before.Totals.ProgramEnergyLoJ, after.Totals.ProgramEnergyHiJ = &lo, &hi
		*after.Functions[0].SelfEnergyJ /= 4
		*after.Functions[0].SelfEnergyLoJ /= 4
		*after.Functions[0].SelfEnergyHiJ /= 4
		*after.Paths[2].SelfEnergyJ /= 4
		p := open(t, b, "compare", reporttest.Write(t, "html", report.Several{before, after}, format.Options{Names: []string{"before", "after"}}), 1400,
			900)
		p.is(`[...document.querySelectorAll('#changes-table tbody tr')].map((e) => e.querySelector('.name').textContent + ' ' + e.lastChild.textContent).join()`,
			"shop.stock.prüfsumme lower?,shop.stock.Stock.refill no change shown")
		p.is(`document.querySelectorAll('#compare .warnings').length`, "0")
		p.tab("difference")
		p.do(chromedp.WaitReady(`#difference-2`, chromedp.ByQuery))
		p.do(chromedp.Evaluate(`document.getElementById('difference-2').dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX: 9 }))`, nil))
		p.is(`document.getElementById('difference-line').textContent.replace(/\u00a0/g, ' ')`,
			"shop.stock.prüfsumme stock.py:50 · 9.84 J → 2.46 J (−75.0 %, −7.38 J)")
		p.click(`#difference [data-value="after"]`)
		p.click(`#runs [data-value="0"]`)
		p.tab("overview")
		p.is(`document.querySelector('.big .note').textContent.replace(/\u00a0/g, ' ')`,
			"between 700 mJ and 22.0 J · read from energy counters of the machine")
		p.click(`#runs [data-value="1"]`)
		p.is(`document.querySelector('.big .note').textContent.replace(/\u00a0/g, ' ')`,
			"between 13.2 and 21.0 J · read from energy counters of the machine")
		p.tab("functions")
		p.is(`document.querySelector('#functions-table tbody .name').textContent`, "shop.stock.Stock.refill")
		p.click(`#runs [data-value="-1"]`)
		p.is(`document.querySelectorAll('#beside').length`, "1")
		p.shot("compare")
		p.quiet()
	})
	t.Run("compared lines", func(t *testing.T) {
		of := func(id string, lines map[int]string) *report.Run {
			r := reporttest.Example(t, nemb.Measured)
			r.Meta.RunID, r.Meta.Granularity = id, "line"
			f := &r.Functions[0]
			for n := f.Line; n < f.Line+9; n++ {
				if lines[n] != "" {
					e := report.Joules(n * 1000)
					f.Places = append(f.Places, report.Place{Kind: "line", Line: n, EndLine: n, Count: 1, SelfTimeS: 1,
						SelfEnergyJ: &e, Text: lines[n]})
				}
			}
			for i := range r.Sites { // the text of the function is another
				r.Sites[i].TextID = id
			}
			return r
		}
		p := open(t, b, "lines", reporttest.Write(t, "html", report.Several{
			of("before", map[int]string{51: "a = 1", 52: "old()", 53: "x()", 54: "<b>(a)"}),
			of("after", map[int]string{51: "a = 1", 52: "x()", 53: "new()", 54: "<b>(a)"})},
			format.Options{Names: []string{"before", "after"}}), 1400, 900)
		p.is(`[...document.querySelectorAll('#place-changes-table tbody tr')].map((e) => e.querySelector('.name').textContent + ' ' + e.lastChild.textContent).sort().join()`,
			"stock.py:51 a = 1 no change shown,stock.py:52 old() base only,stock.py:52 x() (was line 53) no change shown,"+
				"stock.py:53 new() head only,stock.py:54 <b>(a) no change shown")
		p.quiet()
	})
	t.Run("three", func(t *testing.T) {
		runs := report.Several{reporttest.Scaled(t, nemb.Measured, "a", 1), reporttest.Scaled(t, nemb.Measured, "b", 0.5),
			reporttest.Scaled(t, nemb.Measured, "c", 1)}
		*runs[1].Paths[2].SelfEnergyJ /= 2
		p := open(t, b, "three", reporttest.Write(t, "html", runs, format.Options{Names: []string{"a", "b", "c"}}), 1400, 900)
		// Each run has its change from the first, with a verdict. One that is none is grey.
		cells := `[...document.querySelectorAll('#changes-table tbody tr:first-child td')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).join('; ')`
		p.is(cells, "9.84J; 4.92J −50.0 % lower?; 9.84J ±0.0 % no change shown; −4.92J")
		p.is(`[...document.querySelectorAll('#changes-table tbody tr:first-child .change > span:first-child')].map((e) => e.className).join()`, "good,soft")
		p.is(`[...document.querySelectorAll('#beside tbody tr:first-child .change')].map((e) => e.innerText.replace(/\u00a0/g, ' ')).join('; ')`,
			"−50.0 % lower?; ±0.0 % no change shown")
		p.tab("difference")
		p.is(`document.querySelector('#difference h2').textContent`, "Call paths, a → c")
		p.click(`#difference [aria-label="Run"] [data-value="1"]`)
		p.is(`document.querySelector('#difference h2').textContent`, "Call paths, a → b")
		p.is(`document.getElementById('difference-2').style.background.includes('--less')`, "true")
		p.shot("three")
		p.quiet()
	})
	t.Run("tips", func(t *testing.T) {
		r := reporttest.Example(t, nemb.Measured)
		p := open(t, b, "tips", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		tip := `(document.getElementById('tip')?.hidden === false ? document.getElementById('tip').innerText.replace(/[\s\u00a0]+/g, ' ') : '')`
		over := func(selector string) {
			var at struct{ X, Y float64 }
			p.do(chromedp.Evaluate(`(() => { const b = document.querySelector('`+selector+`').getBoundingClientRect(); return { X: b.x + b.width / 2, Y: b.y + b.height / 2 }; })()`, &at))
			p.do(input.DispatchMouseEvent(input.MouseMoved, at.X-3, at.Y), input.DispatchMouseEvent(input.MouseMoved, at.X, at.Y))
		}
		p.tab("flames")
		p.do(chromedp.WaitVisible(`#flame-2`, chromedp.ByQuery))
		over(`#flame-2`)
		p.is(tip+`.includes('prüfsumme')`, "true")
		p.is(tip+`.includes('9.84 J')`, "true")
		over(`h1`)
		p.is(tip, "")
		p.tab("power")
		over(`#power-plot .u-over`)
		p.is(`/^at \d.* ms.* W, .* J so far/.test(`+tip+`)`, "true")
		p.do(chromedp.KeyEvent("4"))
		p.is(tip, "")
		p.quiet()
	})
	t.Run("machine", func(t *testing.T) {
		r := reporttest.Example(t, nemb.Measured)
		hot, load := 71.4, 0.5
		r.MachineState = &report.MachineState{Before: condition.State{Governors: []string{"powersave"}, Load1m: &load},
			After: condition.State{Governors: []string{"performance"}, TemperatureC: &hot, Load1m: &load, PowerCapsW: map[string]float64{"package-0/long_term": 65}}}
		p := open(t, b, "machine", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
		p.tab("details")
		p.is(`[...document.querySelectorAll('#machine-state tbody tr')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ')).join('; ')`,
			"temperature ? 71 °C; governor powersave performance; power limits ? package-0/long_term 65.0 W; load of the last minute 0.50 0.50")
		p.quiet()
	})
	t.Run("changes", func(t *testing.T) {
		before, after := reporttest.Scaled(t, nemb.Measured, "before", 1), reporttest.Scaled(t, nemb.Measured, "after", 1.5)
		stamped(before, after)
		before.Sites[1].TextID, after.Sites[1].TextID = "1", "1"
		for i := range after.Functions {
			if after.Functions[i].Name == after.Sites[1].Name {
				after.Functions[i].Name = "shop.stock.checksum"
			}
		}
		after.Sites[1].Name = "shop.stock.checksum"
		e := report.Joules(2_000_000)
		after.Functions = append(after.Functions, report.Function{Name: "shop.stock.new", Language: "python",
			File: "/home/u/shop/stock.py", Line: 80, Calls: 9, SelfEnergyJ: &e, SelfEnergyLoJ: &e, SelfEnergyHiJ: &e})
		*after.Paths[2].SelfEnergyJ = *after.Paths[2].SelfEnergyJ * 3 / 2
		content := reporttest.Write(t, "html", report.Several{before, after}, format.Options{Names: []string{"before", "after"}})
		p := open(t, b, "changes", content, 1400, 900)
		p.tab("difference") // whose tree a worker makes
		p.is(`document.querySelectorAll('#difference-boxes .box').length`, "3")
		reporttest.Golden(t, filepath.Join("testdata", "page-changes.txt"), p.words())
		p.tab("compare")
		rows := `[...document.querySelectorAll('#changes-table tbody .name')].map((e) => e.textContent).join()`
		p.is(rows, "shop.stock.checksum,shop.stock.Stock.refill,shop.stock.new")
		p.do(chromedp.SendKeys(`#search`, "PRÜF", chromedp.ByQuery)) // by the name that it had
		p.is(rows, "shop.stock.checksum")
		p.is(`document.querySelector('#changes-table .was').textContent`, "was shop.stock.prüfsumme")
		// In the call paths it is one box, redder than what did not change.
		p.tab("difference")
		p.is(`document.querySelectorAll('#difference-boxes .box').length`, "3")
		p.is(`[...document.querySelectorAll('#difference-boxes .box')].map((e) => e.textContent).join()`,
			"main.py,shop.stock.Stock.refill,shop.stock.checksum")
		p.is(`document.getElementById('difference-2').style.background.includes('--more')`, "true")
		p.do(chromedp.Evaluate(`document.getElementById('difference-2').dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX: 9 }))`, nil))
		p.is(`document.getElementById('difference-line').textContent.replace(/\u00a0/g, ' ')`,
			"shop.stock.checksum stock.py:50 · 9.84 J → 14.8 J (+50.0 %, +4.92 J)")
		p.shot("changes")
		p.quiet()
		night := open(t, b, "changes-dark", content, 1400, 900, dark())
		night.shot("changes-dark")
		night.quiet()
		small := open(t, b, "changes-narrow", content, 420, 900)
		small.is(`document.documentElement.scrollWidth <= 420`, "true")
		small.shot("changes-narrow")
		small.quiet()
	})
	t.Run("hostile", func(t *testing.T) {
		evil := "</script><script>window.pwned=1</script><img src=x " +
			"onerror=window.pwned=1><!--\u2028\"'`${window.pwned=1}&lt;"
		r := reporttest.Suite(t, nemb.Measured)
		for i := range r.Sites {
			r.Sites[i].Name, r.Sites[i].File = evil, evil
		}
		for i := range r.Functions {
			r.Functions[i].Name, r.Functions[i].File = evil, evil
		}
		for i := range r.Tasks {
			r.Tasks[i].Name = evil
		}
		for i := range r.Paths {
			if r.Paths[i].Task != "" {
				r.Paths[i].Task = evil
			}
		}
		for i := range r.Ledger {
			r.Ledger[i].Name += evil
		}
		r.Meta.Argv, r.Meta.Hostname, r.Meta.CPUModel, r.Meta.Cwd = []string{evil, "a b"}, evil, evil, evil
		r.Totals.Source, r.Skipped, r.Warnings = evil, []report.Skip{{File: evil, Reason: evil}}, []report.Warning{{Slug: evil, Message: evil}}
		source := func(string) ([]byte, time.Time, error) {
			return []byte(evil + "\n" + evil + "\n" + evil), time.Time{}, nil
		}
		// Renamed from one hostile name to another.
		renamed := reporttest.Hostile(t)
		renamed.Meta.RunID, renamed.Sites[0].TextID, r.Sites[0].TextID = "renamed", "1", "1"
		for name, runs := range map[string][]*report.Run{"one": {r}, "two": {r, reporttest.Example(t, nemb.Measured)},
			"renamed": {renamed, r}} {
			p := open(t, b, "hostile", reporttest.Write(t, "html", report.Together(runs), format.Options{Source: source, Names: []string{evil, "b"}}),
				1400, 900)
			p.is(`window.pwned`, "undefined")
			p.is(`document.scripts.length+','+document.images.length`, "2,0")
			p.is(`document.querySelector('h1').textContent.includes('</script><script>window.pwned=1</script>')`,
				"true")
			if name == "renamed" {
				p.is(`document.querySelector('#changes-table .was').textContent.startsWith('was a\x60b|c<script>alert(1)</script>')`, "true")
			}
			if name == "one" {
				p.tab("functions")
				p.click(`#functions-table button.name`)
				p.tab("flames")
				p.is(`document.querySelectorAll('#flame-boxes .chosen').length > 0`, "true")
				p.tab("functions")
				p.click(`#functions-table button.where`)
				p.is(`document.querySelector('#source-code .t').textContent.startsWith('</script>')`, "true")
			}
			p.is(`window.pwned`, "undefined")
			p.quiet()
		}
	})
	t.Run("closed", func(t *testing.T) {
		p := open(t, b, "closed", reporttest.Write(t, "html", reporttest.Example(t, nemb.Measured), format.Options{}), 1400, 900)
		var refused []string
		p.do(chromedp.Evaluate(`new Promise((done) => {
			const seen = [];
			document.addEventListener('securitypolicyviolation', (e) => { seen.push(e.effectiveDirective); if (seen.length === 4) done(seen.sort()); });
			fetch('http://127.0.0.1:9/').catch(() => {});
			document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/' }));
			document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.pwned = 1' }));
			document.body.append(Object.assign(document.createElement('iframe'), { src: 'http://127.0.0.1:9/' }));
		})`, &refused, func(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams { return p.WithAwaitPromise(true) }))
		if got := strings.Join(refused, " "); got != "connect-src frame-src img-src script-src-elem" {
			t.Errorf("refused: %s", got)
		}
		p.is(`window.pwned`, "undefined")
	})
	t.Run("largest", func(t *testing.T) {
		r := reporttest.Largest(t)
		begun := time.Now()
		content := reporttest.Write(t, "html", r, format.Options{})
		written := time.Since(begun)
		begun = time.Now()
		p := open(t, b, "largest", content, 1400, 900)
		t.Logf("%d paths, %d samples, %d functions: %.1f MB, written in %v, shown in %v, %s boxes",
			len(r.Paths), len(r.Samples), len(r.Functions), float64(len(content))/1e6,
			written.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond),
			p.value(`document.getElementById('small-boxes').dataset.boxes`))
		p.tab("functions")
		p.is(`document.querySelectorAll('#functions-table tbody tr').length`, "100")
		p.click(`#functions-more`)
		p.is(`document.querySelectorAll('#functions-table tbody tr').length`, "600")
		p.is(`document.getElementById('functions-more').textContent`, "Show 500 more of 2\u202f000")
		p.do(chromedp.SendKeys(`#search`, "f12", chromedp.ByQuery))
		p.tab("flames")
		p.click(`#flames [data-value="self"]`)
		p.click(`#flames [data-value="icicle"]`)
		p.tab("power")
		p.do(chromedp.Focus(`#power-plot`, chromedp.ByQuery), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"),
			chromedp.KeyEvent(kb.ArrowLeft))
		p.click(`#power-all`)
		// However many samples there are, few points are drawn, and the area below
		// a line is the energy, to the microjoule.
		p.is(`document.getElementById('power-plot').chart.data[0].length < 600`, "true")
		last := r.Samples[len(r.Samples)-1]
		for i, want := range []report.Joules{*last.EnergyJ, last.DomainJ["dram"], last.DomainJ["gpu0"],
			last.DomainJ["package-0"], last.DomainJ["core"]} {
			p.is(fmt.Sprintf(`(({ data }) => data[0].reduce((sum, t, i) => i ? sum + data[%d][i] * (t - data[0][i - 1]) : 0, 0).toFixed(6))(document.getElementById('power-plot').chart)`, 3*i+3), fmt.Sprintf("%.6f", want.Float()))
		}
		var frame float64
		p.do(chromedp.Evaluate(`new Promise((done) => {
			const plot = document.getElementById('power-plot'), key = (k) => plot.dispatchEvent(new KeyboardEvent('keydown', { key: k }));
			let n = 0, begun = performance.now();
			key('+');
			requestAnimationFrame(function step() {
				if (++n === 20) return done((performance.now() - begun) / n);
				key(n % 2 ? 'ArrowLeft' : 'ArrowRight');
				requestAnimationFrame(step);
			});
		})`, &frame, func(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams { return p.WithAwaitPromise(true) }))
		t.Logf("one frame of the chart: %.1f ms; one click in the paths: %s ms", frame,
			p.value(`(() => { const t = performance.now(); document.querySelector('[data-tab=flames]').click(); document.getElementById('flame-1').click(); return (performance.now() - t).toFixed(1); })()`))
		p.shot("largest")
		p.quiet()
	})
}

// The chart library is the version that its script names.
func TestLibraryIsPinned(t *testing.T) {
	script, err := os.ReadFile("page/uplot.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(script), "\nversion=")
	version, _, _ = strings.Cut(version, "\n")
	library, err := os.ReadFile("page/uplot/uPlot.iife.min.js")
	if err != nil {
		t.Fatal(err)
	}
	if version == "" || !strings.HasPrefix(string(library), "/*! https://github.com/leeoniya/uPlot (v"+version+") */") {
		t.Errorf("page/uplot is not version %q: go generate ./report/format/html", version)
	}
}

// A run that kept its files has them in every page; what another run kept of a file is told of.
func TestKeptSources(t *testing.T) {
	r, other := reporttest.Example(t, nemb.Measured), reporttest.Faster(t)
	r.KeepSources(sampleSource)
	if len(r.Sources) == 0 || r.Sources[0].Text == "" {
		t.Fatalf("%+v", r.Sources)
	}
	file := r.Sources[0].File
	other.Sources = []report.Source{{File: file, Text: "another"}}
	got := pageSources([]*report.Run{r, other}, format.Options{})
	if want := (pageSource{r.Sources[0].Text, "another run had another text: this is that of the first"}); got[file] != want {
		t.Errorf("%+v", got[file])
	}
	if got := pageSources([]*report.Run{reporttest.Faster(t)}, format.Options{}); got != nil {
		t.Errorf("%+v", got)
	}
	p := open(t, browserOf(t), "kept", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
	p.tab("source")
	p.is(`document.querySelector('#source-code .l .t').textContent.includes('line 28 of')`, "true")
	p.quiet()
}
