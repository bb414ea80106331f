// unbalanced: a worker is ended inside
'use strict'
// Workers have trees of their own; one has another environment, one is ended.
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads')
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
if (isMainThread) {
  const start = (options) => new Promise((resolve) => {
    const w = new Worker(__filename, options)
    const got = []
    w.on('message', (m) => { got.push(m); if (options.workerData.forever) w.terminate() })
    w.on('exit', (code) => resolve([got, code]))
  })
  start({ workerData: { n: 10 } })
    .then((r) => { console.log(r); return start({ workerData: { n: 12 }, env: { OTHER: '1' } }) })
    .then((r) => { console.log(r); return start({ workerData: { n: 5, forever: true } }) })
    .then((r) => { console.log(r[0]); return Promise.all([start({ workerData: { n: 8 } }), start({ workerData: { n: 9 } })]) })
    .then((r) => { console.log(r, fib(11)) })
} else {
  parentPort.postMessage(fib(workerData.n))
  while (workerData.forever) fib(3)
}
