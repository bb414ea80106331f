// Names that a parameter has, or the function around a module: an error, or another scope.
function good(a, { b: [c] }) { { let a = 1; void a } var c = c + 1; const { a: d } = { a }; return a + c + d }
function tried(name) { try { return require(name) } catch (e) { return e.name + ': ' + e.message } }
for (const name of ['module', 'parameter', 'pattern', 'inner']) console.log(name, tried('./' + name))
console.log(good(1, { b: [2] }))
