'use strict'
// Generators that end, are closed, are thrown into, and are left suspended.
function* count(n) { try { for (let i = 0; i < n; i++) { const got = yield i; if (got) console.log('got', got) } return 'end' } finally { console.log('closed', n) } }
function* tree(n) { if (n > 0) { yield* tree(n - 1); yield n; yield* tree(n - 1) } }
function* delegates() { const result = yield* count(2); console.log('result', result); yield; yield 'last' }
function* throws() { yield 1; throw new Error('from inside') }
function* survives() { while (true) { try { yield 'waiting' } catch (e) { console.log('survived', e.message); yield 'after' } } }
const comma = function* () { const x = (yield 1, yield 2); return [x, yield] }
const object = { *method() { yield this === object } }

console.log([...count(3)], [...tree(3)].join(''), [...delegates()])
const g = count(5)
console.log(g.next(), g.next('hello'), g.return('early'), g.next())
for (const x of count(9)) if (x === 2) break
const [first] = count(4)
console.log(first)
try { [...throws()] } catch (e) { console.log(e.message) }
const s = survives()
console.log(s.next(), s.throw(new Error('a')), s.next(), s.throw(new Error('b')))
const never = count(1)
try { never.throw(new Error('before it began')) } catch (e) { console.log(e.message) }
const c = comma()
console.log(c.next(), c.next('a'), c.next('b'), c.next('c'), [...object.method()])
const open = tree(2)
open.next()
console.log(String(comma), Object.prototype.toString.call(open))
