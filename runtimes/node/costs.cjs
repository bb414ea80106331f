// Measures what checkpoints cost in code that is compiled: a call into the addon, and an event that JavaScript counts,
// in nanoseconds. cg runs it once for each Node and addon, since the first calls of a program are not compiled.
//
//     node costs.cjs ADDON       prints {"call": 8.7, "counted": 2.4}
'use strict';

const { countingIn } = require('./counting.cjs');

const ROUNDS = 400, CALLS = 2000;

const native = { exports: {} };
process.dlopen(native, process.argv[2]);
const { nothing } = native.exports;

const box = new ArrayBuffer(1 << 18), B = new Int32Array(box);
const head = new ArrayBuffer(4096), tree = new ArrayBuffer(1 << 16), nodes = 4096;
const T = new Int32Array(tree, nodes);
const { enter, exit } = countingIn({ head, tree, nodes }, box, nothing, nothing);
const SITE = 7;
T.set([1, SITE], 2); // the latest call of node 0 is node 1, of the site
T[48] = SITE;
T[48 + 12] = T[12] = 1;
B[6] = 1000;
Object.defineProperties(globalThis, { cg$e: { value: enter }, cg$x: { value: exit } });

let n = 0;
function plain(x) { return x + n; }
function calls(x) { nothing(); return x + n; }
function counted(x) { cg$e(7); try { return x + n; } finally { cg$x(7); } }

// A loop for each, so that each is compiled for its own.
const loops = {
  plain(k) { let s = 0; for (let i = 0; i < k; i++) s += plain(i); return s; },
  calls(k) { let s = 0; for (let i = 0; i < k; i++) s += calls(i); return s; },
  counted(k) { let s = 0; for (let i = 0; i < k; i++) s += counted(i); return s; },
};

const least = {};
for (const [name, loop] of Object.entries(loops)) {
  least[name] = Infinity;
  for (let r = 0; r < ROUNDS; r++) {
    B[3] = 2 * CALLS + 1;
    const begin = process.hrtime();
    loop(CALLS);
    const [s, ns] = process.hrtime(begin);
    least[name] = Math.min(least[name], (s * 1e9 + ns) / CALLS);
  }
}
console.log(JSON.stringify({
  call: least.calls - least.plain,
  counted: (least.counted - least.plain) / 2,
}));
