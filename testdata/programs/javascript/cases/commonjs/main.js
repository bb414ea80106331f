#!/usr/bin/env node
'use strict'
// CommonJS: cycles, the module's own variables, JSON, folders, main.
const a = require('./a')
console.log(a.name(), a.b.done, require('./b').sees, require('./data.json').n, require('./folder').here())
console.log(require.main === module, module.id, __filename.endsWith('main.js'), module.children.length, module.paths.length > 0)
console.log(Object.keys(require.cache).map((f) => f.slice(__dirname.length)), require.resolve('./a').slice(__dirname.length))
console.log(require('left').pad('x'), module.loaded, typeof module.parent)
try { require('./broken') } catch (e) { console.log(e.name, e.message) }
try { require('./throws') } catch (e) { console.log(e.message, require.cache[require.resolve('./a')] !== undefined) }
import('./es.mjs').then((m) => { console.log(m.default, m.later()) })
