'use strict'
// Processes below: fork, spawn, execFileSync, cluster.
const { fork, spawnSync, execFileSync } = require('node:child_process')
const cluster = require('node:cluster')
function work(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum }
if (cluster.isWorker) {
  process.send(work(4), () => { process.disconnect() })
} else if (process.argv[2] === 'forked') {
  process.on('message', (n) => { process.send(work(n)); process.disconnect() })
} else if (process.argv[2]) {
  console.log(process.argv[2], work(3), process.execArgv.length)
} else {
  const r = spawnSync(process.execPath, [__filename, 'spawned'])
  console.log(String(r.stdout).trim(), r.status, String(execFileSync(process.execPath, [__filename, 'executed'])).trim())
  const child = fork(__filename, ['forked'])
  child.on('message', (m) => { console.log('forked', m) })
  child.send(10)
  child.on('exit', (code) => {
    console.log('child', code)
    const w = cluster.fork()
    w.on('message', (m) => { console.log('cluster', m) })
    w.on('exit', (code) => { console.log('worker', code, work(2)) })
  })
}
