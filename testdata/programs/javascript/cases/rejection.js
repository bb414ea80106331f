'use strict'
Error.stackTraceLimit = 50
process.on('exit', (code) => { console.log('exit', code) })
async function fails() {
  await null
  throw new Error('nobody catches it')
}
fails()
