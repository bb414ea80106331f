'use strict'
// A handler of a signal, and what an interval does until then.
let n = 0
function tick() { n++; if (n === 2) process.kill(process.pid, 'SIGUSR2') }
const t = setInterval(tick, 1)
process.on('SIGUSR2', (name) => { console.log(name, n >= 2); clearInterval(t) })
