// The checkpoints, as functions of the global object: modules that are rewritten call them by the
// names that languages/node/rewrite.go has. It takes a run and opens its channel.
'use strict';

const { countingIn, TASKS } = require('./counting.cjs');

const EXIT = 1 << 21, SUSPEND = 2 << 21, RESUME = 3 << 21, CLOSE = 5 << 21;

// Of the box (runtimes/native/node_counting.h): an event, how many tasks are open, a node, and how many tasks it holds.
const EVENT = 0, OPEN = 1, NODE = 2, MOST_TASKS = 64;

const threads = require('node:worker_threads');

const native = { exports: {} };
let pure;  // pure.cjs, where there is no addon
let tasks; // the box

/** Opens the channel, and makes the checkpoints: "" or why that is not possible. */
function begin(run) {
  const why = run.native ? load(run) : run.reason;
  if (why) return beginPure(run, why);
  const { box: memory, open, event, counting, known } = native.exports;
  const box = new Uint32Array(memory);
  const counts = process.arch === 'x64'; // others may reorder what is stored
  box[EVENT] = Number(run.call) * 16;
  box[NODE] = counts ? Number(run.counted) * 16 : 0;
  const error = open(run.channel);
  if (error) return 'the channel cannot be opened: error ' + error;
  native.exports.name(threadName());
  tasks = box;
  const views = counts ? counting() : undefined;
  if (views) {
    const { enter, exit } = countingIn(views, memory, known, event);
    define('cg$e', enter);
    define('cg$x', exit);
  } else {
    define('cg$e', (site) => { box[EVENT] = site; event(); });
    define('cg$x', (site) => { box[EVENT] = EXIT | site; event(); });
  }
  define('cg$c', (site) => { box[EVENT] = CLOSE | site; event(); });
  define('cg$s', (site, value) => { box[EVENT] = SUSPEND | site; event(); return value; });
  define('cg$r', (site, value) => { box[EVENT] = RESUME | site; event(); return value; });
  return '';
}

/** Loads the addon: "" or why that is not possible. */
function load(run) {
  try {
    process.dlopen(native, run.native);
    return '';
  } catch (e) {
    return 'Node does not load the addon: ' + e.message;
  }
}

/** Makes checkpoints in JavaScript alone. */
function beginPure(run, reason) {
  pure = require('./pure.cjs');
  const why = pure.open(run);
  if (why) return why;
  ask(run, 'pure', [reason]);
  const { enter, exit, close, suspend, resume } = pure;
  define('cg$e', enter);
  define('cg$x', exit);
  define('cg$c', close);
  define('cg$s', (site, value) => { suspend(site); return value; });
  define('cg$r', (site, value) => { resume(site); return value; });
  return '';
}

/** What this thread is called: the name that its worker was given, which Node tells from 22.20 and 24.6 on. */
function threadName() {
  return threads.isMainThread ? 'main' : String(threads.threadName || `worker ${threads.threadId}`);
}

/** Tells which tasks are open in this thread, the outermost first. */
function openTasks(sites) {
  if (pure) return pure.openTasks(sites);
  const shown = sites.slice(0, MOST_TASKS);
  tasks.set(shown, TASKS);
  tasks[OPEN] = shown.length;
}

function define(name, value) {
  Object.defineProperty(globalThis, name, { value });
}

/**
 * The number before that of the first site of a file, whose sites' lines are bytes; undefined where it gets none.
 * own: '1' for a file of the program's own.
 */
function numbersOf(run, file, own, lines, count) {
  if (!pure) {
    tasks[EVENT] = count;
    const base = native.exports.numbers(Buffer.concat([Buffer.from(file + '\0'), lines]));
    if (base !== undefined) return base;
  }
  const [ok, base] = ask(run, 'load', ['', file, own, lines.toString()]) || [];
  return ok === 'ok' ? Number(base) : undefined;
}

/** The answer of cg to a request (instrument.Server): its parts, the last whole; undefined if cg is not reached. */
function ask(run, operation, parts) {
  const body = Buffer.from(parts.join('\0'));
  const request = Buffer.concat([Buffer.from(operation + '\t' + body.length + '\n'), body]);
  const answer = pure ? pure.ask(request) : native.exports.ask(run.server, request);
  if (!answer) return undefined;
  const text = Buffer.from(answer).toString();
  const at = text.indexOf('\0');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

module.exports = { begin, ask, openTasks, numbersOf };
