// unbalanced: the process ends inside
'use strict'
Error.stackTraceLimit = 50
process.on('exit', (code) => { console.log('exit', code) })
function fails(n) {
  if (n > 0) {
    return fails(n - 1)
  }
  throw new RangeError('uncaught')
}
console.log('before')
fails(3)
