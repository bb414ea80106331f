// The checkpoints, as functions of the global object: modules that are rewritten call them by the
// names that languages/node/rewrite.go has. It takes a run and opens its channel.
'use strict';

const EXIT = 1 << 21, SUSPEND = 2 << 21, RESUME = 3 << 21, CLOSE = 5 << 21;

// Of the box (runtimes/native/node.c): how many tasks are open, where their sites begin, and how many it holds.
const OPEN = 1, TASKS = 2, MOST_TASKS = 64;

const native = { exports: {} };
let tasks; // the box

/** Opens the channel, and makes the checkpoints: "" or why that is not possible. */
function begin(run) {
  try {
    process.dlopen(native, run.native);
  } catch (e) {
    return 'Node does not load the addon: ' + e.message;
  }
  const error = native.exports.open(run.channel);
  if (error) return 'the channel cannot be opened: error ' + error;
  const box = new Uint32Array(native.exports.box);
  tasks = box;
  const { event } = native.exports;
  define('cg$e', (site) => { box[0] = site; event(); });
  define('cg$x', (site) => { box[0] = EXIT | site; event(); });
  define('cg$c', (site) => { box[0] = CLOSE | site; event(); });
  define('cg$s', (site, value) => { box[0] = SUSPEND | site; event(); return value; });
  define('cg$r', (site, value) => { box[0] = RESUME | site; event(); return value; });
  return '';
}

/** Tells which tasks are open in this thread, the outermost first. */
function openTasks(sites) {
  const shown = sites.slice(0, MOST_TASKS);
  tasks.set(shown, TASKS);
  tasks[OPEN] = shown.length;
}

function define(name, value) {
  Object.defineProperty(globalThis, name, { value });
}

/** The answer of cg to a request (instrument.Server): its parts, the last whole; undefined if cg is not reached. */
function ask(run, operation, parts) {
  const body = Buffer.from(parts.join('\0'));
  const head = Buffer.from(operation + '\t' + body.length + '\n');
  const answer = native.exports.ask(run.server, Buffer.concat([head, body]));
  if (!answer) return undefined;
  const text = Buffer.from(answer).toString();
  const at = text.indexOf('\0');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

module.exports = { begin, ask, openTasks };
