// Sloppy mode: this, arguments that alias parameters, declarations twice, eval and with.
function thisIs() { return this === globalThis }
function aliases(a) { arguments[0] = 'changed'; return a }
function twice() { function f() { return 1 } function f() { return 2 } return f() }
function both() { var f = f || 'kept'; function f() {} return typeof f }
function hoisted() { return inner(); function inner() { return 'hoisted' } }
function inBlock() { { function b() { return 'b' } } return b() }
function evals(x) { eval('var made = x + 1'); return made }
function scoped(o) { with (o) { return (function () { return value })() } }
function octal() { return 010 + 0o7 }
function labels() { a: { b: for (;;) { break a } } return 'left' }
function callee() { return arguments.callee === callee }
function params(a, a) { return a }
function shadows(hoisted) { function hoisted() { return 'inner' } return hoisted() }
var of = 1, get = 2, set = 3, async = x => x + 1
function strictInside() { 'use strict'; return this === undefined }
function noSemicolon() { 'use strict'
  return this }
function directiveLike() { 'a string'.length; return typeof this }
delete globalThis.nothing
console.log(thisIs(), aliases(1), twice(), both(), hoisted(), inBlock(), evals(1), scoped({ value: 'with' }), octal(), labels())
console.log(callee(), params(1, 2), shadows(1), of + get + set, async(1), strictInside(), noSemicolon(), directiveLike())
console.log(String(noSemicolon), this === module.exports, typeof require, arguments.length)
var again = 1
function again2() { return again }
console.log(again2(), eval('(function () { return 1 })()'), new Function('a', 'return a + 1')(1))
