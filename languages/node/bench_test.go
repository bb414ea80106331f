package node

import (
	"encoding/json"
	"testing"

	"cg/checkpoint"
	"cg/languages"
)

// pairScript prints what one call of a small function costs, the loop included, and what two readings
// of the clock do, in nanoseconds: the least of many short runs, since the machine is shared.
const pairScript = `
let n = 0
function f(x) { return x + n }
class A { m(x) { return x + n } }
const a = new A()
const arrow = x => x + n
const loops = {
  call(k) { let s = 0; for (let i = 0; i < k; i++) s += f(i); return s },
  method(k) { let s = 0; for (let i = 0; i < k; i++) s += a.m(i); return s },
  arrow(k) { let s = 0; for (let i = 0; i < k; i++) s += arrow(i); return s },
  clock(k) { let s = 0; for (let i = 0; i < k; i++) s += performance.now() + performance.now(); return s },
}
const least = {}
for (const [name, loop] of Object.entries(loops)) {
  for (let r = 0; r < 300; r++) {
    const t = process.hrtime.bigint()
    loop(5000)
    least[name] = Math.min(least[name] ?? Infinity, Number(process.hrtime.bigint() - t) / 5000)
  }
}
console.log(JSON.stringify(least))
`

// BenchmarkPair gives what enter and exit add to a call in each node, with every call timed, within
// the budget of 10 %, and without the addon. The reference is two readings of performance.now.
func BenchmarkPair(b *testing.B) {
	dir := b.TempDir()
	writeFiles(b, dir, map[string]string{"pair.js": pairScript})
	budget := func(_ *languages.Setup, c *checkpoint.Channel) { c.SetBudget(0.1) }
	for _, node := range nodes(b) {
		b.Run(majorOf(b, node), func(b *testing.B) {
			least := map[string]float64{}
			note := func(mode string, r ran) {
				var got map[string]float64
				if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
					b.Fatalf("%v\n%s", err, r.Stderr)
				}
				for name, v := range got {
					if was, known := least[mode+" "+name]; !known || v < was {
						least[mode+" "+name] = v
					}
				}
			}
			for range b.N {
				for range 3 {
					note("plain", execute(b, dir, nil, node, "pair.js"))
					note("timed", measured(b, dir, node, []string{"pair.js"}, adding))
					note("pure", measured(b, dir, node, []string{"pair.js"}, withoutAddon))
					note("budget", measured(b, dir, node, []string{"pair.js"}, budget))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(least["plain clock"], "ns/two-clocks")
			for _, loop := range []string{"call", "method", "arrow"} {
				b.ReportMetric(least["plain "+loop], "ns/plain-"+loop)
				b.ReportMetric(least["timed "+loop]-least["plain "+loop], "ns/timed-"+loop)
				b.ReportMetric(least["pure "+loop]-least["plain "+loop], "ns/pure-"+loop)
				b.ReportMetric(least["budget "+loop]-least["plain "+loop], "ns/budget-"+loop)
			}
		})
	}
}
