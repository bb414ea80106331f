'use strict'
// Handlers of what nobody caught.
process.on('uncaughtException', (e, origin) => { console.log('handler', e.message, origin) })
process.on('unhandledRejection', (e) => { console.log('rejection', e.message) })
process.on('rejectionHandled', () => { console.log('handled late') })
process.on('beforeExit', function once() { console.log('before exit'); process.removeListener('beforeExit', once); setTimeout(fails, 1) })
function fails() { throw new Error('from a timer') }
async function rejects() { throw new Error('rejected') }
const p = rejects()
setTimeout(() => { p.catch(() => { console.log('caught late') }) }, 2)
setImmediate(fails)
