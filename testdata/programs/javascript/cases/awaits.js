'use strict'
// Functions that are suspended, and every way out of them.
const sleep = (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value))
async function fails(after) { if (after) await sleep(1); throw new Error('fails ' + after) }
async function catches() {
  try { await fails(true) } catch (e) { console.log('caught', e.message) } finally { console.log('finally') }
  try { await fails(false) } catch { console.log('no binding') }
  return await sleep(1, 'caught all')
}
async function passes() { await fails(true); console.log('never') }
async function nested(n) { return n === 0 ? 0 : 1 + await nested(n - 1) }
async function* numbers(n) { for (let i = 0; i < n; i++) { await null; const got = yield i; if (got) console.log('got', got) } }
async function loops() {
  for await (const n of numbers(3)) console.log('n', n)
  for await (const n of [Promise.resolve('a'), 'b']) { if (n === 'b') break; console.log(n) }
  outer: for (const x of [1, 2]) {
    for await (const y of numbers(3)) { if (y === 1) continue outer; console.log(x, y) }
  }
  label: for await (const z of numbers(3)) { if (z === 1) continue label; console.log('z', z) }
  if (true) for await (const w of numbers(1)) console.log('w', w)
  for await (const n of numbers(2)) { try { await fails(true) } catch (e) { console.log(n, e.message) } }
  try { for await (const n of (async function* () { yield 1; throw new Error('in the loop') })()) console.log(n) } catch (e) { console.log(e.message) }
  for await (const n of numbers(5)) return 'returned ' + n
}
async function manual() {
  const g = numbers(9)
  console.log(await g.next(), await g.next('sent'), await g.return('over'), await g.next())
  const h = numbers(9)
  await h.next()
  try { await h.throw(new Error('thrown in')) } catch (e) { console.log(e.message) }
}
const short = async x => await x
const object = async () => ({ a: await 1, b: [await 2, `${await 3}`] })
const all = async () => Promise.all([sleep(3, 'slow'), sleep(1, 'fast'), nested(5)])
const race = async () => Promise.race([sleep(1, 'first'), sleep(30, 'second')])
async function awaitsEverywhere(a) {
  const o = { [await 'k']: await a }
  if (await a) { switch (await a) { case await 4: return [o, await a ? await 1 : await 2, await await 5, -await a] } }
}
async function main() {
  console.log(await catches())
  await passes().catch((e) => console.log('passed', e.message))
  console.log(await nested(20), await loops())
  await manual()
  console.log(await short(7), await object(), await all(), await race(), await awaitsEverywhere(4))
}
main().then(() => console.log('done'))
