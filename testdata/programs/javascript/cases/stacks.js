'use strict'
// Lines, columns and names of frames.
Error.stackTraceLimit = 50
const path = require('node:path')
function where(e) { return e.stack.split('\n').map((l) => l.replace(__dirname, '')).join('\n') }
function one() { return two(1, () => { throw new TypeError('one line') }) } function two(n, f) { return f(n) }
class Thing { method() { return one() } static s() { return new Thing().method() } get g() { return Thing.s() } }
async function later() { await null; return new Thing().g }
function
  split() {
    return one()
  }
const arrow = () => one(); const deep = (n) => n ? deep(n - 1) : one()
for (const f of [one, Thing.s, split, arrow, () => deep(2), () => deep(30), () => new Thing().g, () => [1].map(one), () => JSON.parse('{')]) {
  try { f() } catch (e) { console.log(where(e).replace(/node:\S+/g, 'node')) }
}
later().catch((e) => console.log(where(e)))
const captured = {}
Error.captureStackTrace(captured)
console.log(captured.stack.split('\n')[1].replace(__dirname, ''))
const before = Error.prepareStackTrace
Error.prepareStackTrace = (e, frames) => frames.map((f) => path.basename(String(f.getFileName())) + ':' + f.getLineNumber())
console.log(new Error('structured').stack[0])
Error.prepareStackTrace = before
Error.stackTraceLimit = 1
console.log(where(new Error('short')))
try { null.f() } catch (e) { console.log(e.message, where(e)) }
console.log(new (class Own extends Error { constructor(m) { super(m); this.name = 'Own' } })('own').stack.split('\n')[0])
try { require('./missing') } catch (e) { console.log(e.code, String(e.stack).split('\n')[0]) }
try { Buffer.alloc('x') } catch (e) { console.log(e.stack.split('\n')[0]) }
