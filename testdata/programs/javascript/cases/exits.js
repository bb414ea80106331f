// unbalanced: the process ends inside
'use strict'
process.on('exit', (code) => { console.log('exit', code); process.exitCode = 4 })
function leave() { try { process.exit(3) } finally { console.log('never') } }
async function main() { await null; leave() }
main()
