// unbalanced: the process is killed
'use strict'
function wait() { process.kill(process.pid, 'SIGTERM'); for (;;); }
console.log('before')
setTimeout(wait, 1)
