// What cg says about this run: a file with a line "key=value" for each setting. Its path is in the
// environment; a worker may have another, so the thread that starts it passes it on.
//
//   channel, server, native   the channel, the socket at which cg answers, the addon; none where there is a
//   reason                    why the addon is not used
//   call, counted             nanoseconds of a call of it, and of an event that JavaScript counts (costs.cjs)
//   entry                     only the file that is run is wanted (coarse)
//   foreign                   files that are not the program's own may be wanted, too
//   kept, key                 the folder of files that are kept from run to run, if there is one, and what names begin with
//   off                       the file that takes why there are no checkpoints
'use strict';

const fs = require('node:fs');
const { setEnvironmentData, getEnvironmentData } = require('node:worker_threads');

const KEY = 'cg.run'; // of what workers inherit

/** The settings, undefined where there is no run any more. */
function read() {
  const path = getEnvironmentData(KEY) || process.env.CG_RUN;
  let text;
  try {
    text = path && fs.readFileSync(path, 'utf8');
  } catch {}
  if (!text) return undefined;
  setEnvironmentData(KEY, path);
  const run = {};
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) run[line.slice(0, at)] = line.slice(at + 1);
  }
  return run.channel ? run : undefined;
}

/** Leaves a note for cg why a process has no checkpoints. */
function tell(run, why) {
  try {
    fs.writeFileSync(run.off, why, { mode: 0o600 });
  } catch {}
}

module.exports = { read, tell };
