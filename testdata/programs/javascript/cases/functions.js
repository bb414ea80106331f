// Every kind of function, with what a program can ask of one.
function declared(a, b = 2, ...rest) { return [a, b, rest.length, arguments.length] }
const expression = function (x) { return x + 1 }
const named = function inner(n) { return n === 0 ? typeof inner : inner(n - 1) }
const arrow = x => x * 2
const object = x => ({ x })
const lines = x =>
  // a comment before the expression
  x +
  1
const nested = a => b => c => a + b + c
const api = {
  method() { return this === api },
  'quoted name'() { return 1 },
  [Symbol.iterator]: function* () { yield 1 },
  get value() { return 5 },
  set value(v) { this.kept = v },
  arrow: () => 3,
  deep: { inside() { return 4 } },
}
exports.exported = function () { return 'exported' }
function Old() { if (!new.target) return new Old(); this.made = true }
Old.prototype.hello = function () { return 'hello ' + this.made }

console.log(declared(1), declared(1, 3, 4, 5), expression(1), named(3), arrow(4), object(1), lines(1), nested(1)(2)(3))
console.log(api.method(), api['quoted name'](), [...api], api.value, (api.value = 6, api.kept), api.arrow(), api.deep.inside())
console.log(exports.exported(), Old().hello(), (() => { })(), (function () { return this })() === globalThis)
for (const f of [declared, expression, named, arrow, object, lines, nested, api.method, api.deep.inside, Old, Old.prototype.hello]) {
  console.log(f.name, f.length, 'prototype' in f, String(f))
}
console.log(Function.prototype.toString.name, Function.prototype.toString.call(Function.prototype.toString), String(Math.max))
console.log(Object.keys(globalThis).filter((k) => k.startsWith('cg')), Object.keys(require.cache).length)
try { Function.prototype.toString.call({}) } catch (e) { console.log(e instanceof TypeError, e.message) }
