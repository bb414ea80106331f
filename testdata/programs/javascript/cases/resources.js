'use strict'
// What async_hooks tells: how many resources of each type begin, run and end, and in which chain.
const { createHook, executionAsyncId, AsyncLocalStorage, AsyncResource } = require('node:async_hooks')
const counts = {}
const note = (what) => { counts[what] = (counts[what] || 0) + 1 }
const types = new Map()
const hook = createHook({
  init(id, type) { types.set(id, type); note('init ' + type) },
  before(id) { if (types.has(id)) note('before ' + types.get(id)) }, // else it is of Node's own
  after(id) { if (types.has(id)) note('after ' + types.get(id)) },
  promiseResolve(id) { if (types.has(id)) note('resolve ' + types.get(id)) },
}).enable()
const storage = new AsyncLocalStorage()
async function leaf(x) { return x }
async function chain(n) { let s = 0; for (let i = 0; i < n; i++) s += await leaf(i); return s + storage.getStore() }
async function* values(n) { for (let i = 0; i < n; i++) yield i }
async function each(n) { let s = 0; for await (const v of values(n)) s += v; return s }
class Own extends AsyncResource { constructor() { super('OWN') } go(f) { return this.runInAsyncScope(f) } }
function depth() { return executionAsyncId() > 0 }
async function main() {
  const all = await Promise.all([1, 2, 3].map((n) => storage.run(n * 100, () => chain(n * 5))))
  all.push(await each(7), new Own().go(depth))
  await new Promise((done) => setTimeout(done, 1))
  await new Promise((done) => setImmediate(() => process.nextTick(() => queueMicrotask(done))))
  await leaf(1).then((x) => { throw new Error('x' + x) }).catch((e) => all.push(e.message)).finally(() => note('finally'))
  return all
}
main().then((all) => {
  hook.disable()
  console.log(all.join(' '))
  for (const what of Object.keys(counts).sort()) console.log(what, counts[what])
})
