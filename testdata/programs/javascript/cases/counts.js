'use strict'
// The program counts its own calls; the test compares them with what cg counted.
const counts = {}
const hit = (name) => { counts[name] = (counts[name] || 0) + 1 }
function fib(n) { hit('fib'); return n < 2 ? n : fib(n - 1) + fib(n - 2) }
class Stack {
  constructor() { hit('Stack.constructor'); this.items = [] }
  push(x) { hit('Stack.push'); this.items.push(x); return this }
  get top() { hit('Stack.get top'); return this.items.at(-1) }
}
const square = (x) => (hit('square'), x * x)
async function waits(n) { hit('waits'); for (let i = 0; i < n; i++) await null; return n }
function* steps(n) { hit('steps'); for (let i = 0; i < n; i++) yield i }
function fails() { hit('fails'); throw new Error('x') }
async function main() {
  hit('main')
  fib(15)
  const s = new Stack()
  for (let i = 0; i < 100; i++) s.push(square(i)).top
  for (let i = 0; i < 20; i++) { await waits(i); for (const k of steps(i)) if (k > 5) break }
  await Promise.all(Array.from({ length: 30 }, (_, i) => { hit('main.<anonymous>'); return waits(i) }))
  for (let i = 0; i < 10; i++) try { fails() } catch { hit('caught') }
  delete counts.caught
  console.log('COUNTS ' + JSON.stringify(counts))
}
main()
