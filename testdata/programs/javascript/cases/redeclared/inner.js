function f(module) { { let module = 2; return module } }
module.exports = f(1)
