package html

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"cg/nemb"
	"cg/report/format"
	"cg/report/reporttest"
)

// A property's getter and setter have one name in one file. They are two functions in every view, also in those of a
// part of the run.
func TestTwins(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	for i := range r.Functions {
		r.Functions[i].Name = "shop.stock.Stock.size"
	}
	for i := range r.Sites[:2] {
		r.Sites[i].Name = "shop.stock.Stock.size"
	}
	p := open(t, browserOf(t), "twins", reporttest.Write(t, "html", r, format.Options{}), 1400, 900)
	rows := func(selector string) string {
		return `[...document.querySelectorAll('` + selector + `')].map((e) => e.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).join('; ')`
	}
	p.is(rows("#dearest-table tr"), "shop.stock.Stock.size :50 9.84J 54.5%; shop.stock.Stock.size :30 4.92J 27.3%")
	for line, near := range map[int]string{30: "main.py 14.8J; shop.stock.Stock.size :50 9.84J", 50: "shop.stock.Stock.size :30 9.84J"} {
		p.tab("functions")
		p.do(chromedp.Evaluate(fmt.Sprintf(`choose(cg.data.runs[0].functions.find((f) => f.line === %d))`, line), nil))
		p.is(rows("#functions-table tr.chosen .where"), fmt.Sprint("stock.py:", line))
		p.is(rows("#chosen .place"), fmt.Sprint("/home/u/shop/stock.py:", line))
		p.is(rows("#chosen tr"), near)
		p.tab("flames")
		p.is(`[...document.querySelectorAll('#flame-boxes .box.chosen')].map((e) => cg.data.runs[0].folded().line(e.node)).join()`, fmt.Sprint(line))
		p.is(`new URLSearchParams(location.hash.slice(1)).get('line')`, fmt.Sprint(line))
	}
	// 275 to 825 ms, of which one is called by the other from 300 on.
	p.tab("power")
	p.do(chromedp.Focus(`#power-plot`, chromedp.ByQuery), chromedp.KeyEvent("+"))
	p.is(rows("#range-functions tr"), "Function Energy Self time; shop.stock.Stock.size:50 ~8.61J 525ms; shop.stock.Stock.size:30 ~410mJ 25.0ms")
	p.shot("twins")
	p.quiet()
}
