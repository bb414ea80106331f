// Functions that a body declares, and that something declares once more.
function labelled() { l: function g() { return 2 } var g; return typeof g }
function inBlock(x) {
  function g() { return 1 }
  if (x) { function g() { return 2 } }
  return g()
}
function byText() { eval('var g = 5'); return g; function g() {} }
function inText() { function g() { return 1 } return (() => { eval('var g = 5'); return g })() + g() }
console.log(labelled(), inBlock(true), inBlock(false), byText(), inText())
