// Puts checkpoints into the program's own modules while Node loads them. Node loads this file before
// the program, in each of its processes and workers (NODE_OPTIONS). It takes the file that cg left for
// the run; without one it does nothing. What fails leaves the program as it is, and is told to cg.
'use strict';

const { isMainThread, parentPort } = require('node:worker_threads');

// Node's own thread for hooks is no worker of the program's; hooks.mjs runs there.
if ((isMainThread || parentPort) && !('cg$e' in globalThis)) {
  const run = require('./run.cjs').read();
  if (run) {
    const why = require('./checkpoints.cjs').begin(run);
    if (why) require('./run.cjs').tell(run, why);
    else require('./loading.cjs').takeOver(run);
  }
  for (const file of Object.keys(require.cache)) {
    if (file.startsWith(__dirname)) delete require.cache[file]; // which the program can see
  }
}
