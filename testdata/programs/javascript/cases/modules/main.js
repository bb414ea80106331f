// unbalanced: a module fails while it is evaluated
// ES modules: imports are hoisted, cycles, top-level await, live bindings, import.meta.
console.log('main', count, hoisted())
import data, { count, increment, Thing } from './lib.mjs'
import * as all from './lib.mjs'
import { readFileSync } from 'node:fs'
import cjs, { named } from './old.cjs'
import { createRequire } from 'node:module'
export function hoisted() { return 'hoisted' }
export const value = await Promise.resolve(data)
increment()
console.log(count, all.count, Object.keys(all).join(), new Thing().twice(2), cjs.named === named, named())
console.log(import.meta.url.slice(-7), import.meta.resolve('./x.js').slice(-4), this, typeof require, typeof readFileSync)
console.log(JSON.parse(readFileSync(new URL('./data.json', import.meta.url))).n, createRequire(import.meta.url)('./old.cjs').named())
const { default: fails } = await import('./fails.mjs').catch((e) => ({ default: e.message }))
console.log(fails, (await import('./cycle1.mjs')).one(), value)
for await (const x of [1, Promise.resolve(2)]) console.log(x)
try { await Promise.reject(new Error('at the top')) } catch (e) { console.log(e.message) }
export default class { run() { return 1 } }
export { value as other } // the last line is a comment
