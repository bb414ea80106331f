// What runs JavaScript or is called by it and has no checkpoints: node:vm, WebAssembly, the inspector.
const vm = require('node:vm')
const inspector = require('node:inspector')
const counts = {}
const hit = (name) => { counts[name] = (counts[name] || 0) + 1 }
function called(n) { hit('called'); return n + 1 }

const context = vm.createContext({ called })
console.log(vm.runInContext('(function inner(n) { return called(n) * 2 })(1)', context))
console.log(new vm.Script('(() => { try { null.x } catch (e) { return e.message } })()').runInThisContext())
console.log(vm.runInNewContext('(function f() { return 1 }).toString()'))
try {
  new vm.Script('throw new Error("of a script")', { filename: __dirname + '/no-such-file.js' }).runInThisContext()
} catch (e) {
  console.log(e.stack.split('\n').slice(0, 2).join('\n').replaceAll(__dirname, ''))
}

// (module (import "m" "f" (func $f (param i32) (result i32))) (func (export "g") (param i32) (result i32) local.get 0 call $f))
const wasm = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 2, 7, 1, 1, 109, 1, 102, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 103, 0, 1,
  10, 8, 1, 6, 0, 32, 0, 16, 0, 11])
const instance = new WebAssembly.Instance(new WebAssembly.Module(wasm), { m: { f: called } })
console.log(instance.exports.g(41))

const session = new inspector.Session()
session.connect()
const scripts = []
session.on('Debugger.scriptParsed', ({ params }) => { if (params.url.endsWith('/inside.js')) scripts.push(params.endLine) })
session.post('Debugger.enable')
session.post('Runtime.evaluate', { expression: '1 + 1' }, (error, { result }) => console.log(error, result.value))
console.log(scripts.length, scripts[0] > 30)
session.post('Debugger.disable')
session.disconnect()
console.log(counts)
