'use strict'
// Fifty interleavings of microtasks, ticks, immediates and awaits: their order stays.
const seen = []
const note = (what) => { seen.push(what) }
async function chain(name, n) { for (let i = 0; i < n; i++) { note(name + i); await null } note(name + '.') }
async function* values(name, n) { for (let i = 0; i < n; i++) yield name + i }
async function drain(name, n) { for await (const v of values(name, n)) note(v) }
async function returns(name) { return Promise.resolve(name).then((v) => { note(v); return v }) }
const thenable = { then(resolve) { note('then'); resolve('thenable') } }
for (let i = 0; i < 50; i++) {
  const id = '<' + i + '>'
  switch (i % 10) {
    case 0: chain('a' + id, i % 4); break
    case 1: process.nextTick(() => { note('tick' + id); Promise.resolve().then(() => note('tick micro' + id)) }); break
    case 2: queueMicrotask(() => { note('micro' + id); process.nextTick(note, 'micro tick' + id) }); break
    case 3: drain('d' + id, i % 3); break
    case 4: returns('r' + id).then(() => chain('rc' + id, 1)); break
    case 5: (async () => { note(await thenable); await returns('x' + id); note('x.' + id) })(); break
    case 6: Promise.all([chain('p' + id, 2), chain('q' + id, 1)]).then(() => note('all' + id)); break
    case 7: (async () => { try { await Promise.reject(1) } catch { note('caught' + id) } finally { await null; note('finally' + id) } })(); break
    case 8: setImmediate(async () => { note('immediate' + id); await null; note('after immediate' + id) }); break
    case 9: (async () => { for (const f of [returns, chain]) await f('s' + id, 1) })(); break
  }
}
process.on('exit', () => { console.log(seen.length); console.log(seen.join(' ')) })
