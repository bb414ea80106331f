// Names that are words of the language elsewhere.
const counts = {}
const hit = (name) => { counts[name] = (counts[name] || 0) + 1 }
const x = await(3)
function await(n) { hit('await'); return n + 1 }
function yield(n) { hit('yield'); return n * 2 }
function f() { hit('f'); return await(4) + yield (3) }
function* g() { hit('g'); yield f(); yield (1); return yield }
async function later() { hit('later'); await null; return await (2) }
var let
let = 3
function static() { hit('static'); let
  = 4; return let }
var of = 7, get = 8, set = 9, async = 6
const k = async => { hit('k'); return async + 1 }
const o = { yield() { hit('o.yield'); return 1 }, await() { hit('o.await'); return 2 }, async() { hit('o.async'); return 3 },
  get() { hit('o.get'); return 4 }, set() { hit('o.set'); return 5 }, static() { hit('o.static'); return 6 } }
class C {
  static() { hit('C.static'); return 1 }
  async() { hit('C.async'); return 3 }
  static async *await() { hit('C.await'); yield 4 }
  get get() { hit('C.get get'); return 5 }
}
const c = new C()
console.log(x, f(), [...g()], static(), let, k(async), of + get + set)
console.log(o.yield(), o.await(), o.async(), o.get(), o.set(), o.static(), c.static(), c.async(), c.get)
async function main() {
  hit('main')
  for await (const v of C.await()) console.log(v)
  console.log(await later())
  console.log('COUNTS ' + JSON.stringify(counts))
}
main()
