// Checkpoints in JavaScript alone, where the addon cannot be loaded: the same events as words in the same channel
// (checkpoint/FORMAT.md). Words are sums of an event and the nanoseconds, which cg takes apart.
//
// Node can neither map a file nor connect to a socket and wait. So a thread keeps the words of its chunk to itself
// and writes them to the channel when it leaves its event loop or comes back to it, each millisecond, and when it ends; and
// requests to cg are files, of which a pipe tells (instrument.PipeOf).
'use strict';

const fs = require('node:fs');
const { endianness } = require('node:os');
const path = require('node:path');
const { performance } = require('node:perf_hooks');
const { threadId } = require('node:worker_threads');

const { openSync, writeSync, readSync, closeSync, writeFileSync, readFileSync, existsSync, unlinkSync, readlinkSync,
  constants } = fs;
const { now } = performance;
const { apply } = Reflect;

const SITES = 1 << 21, OWN = SITES - 1, EXIT = 1 << 21, SUSPEND = 2 << 21, RESUME = 3 << 21;
const PAGE = 4096, HEAD = 64, CHUNK = 65536, WORDS = (CHUNK - HEAD) / 8, COST = 28, FULL = 2;
const AHEAD = 6;           // chunks that a busy thread takes at a time
const RETRY = 512;         // events that are lost before a chunk is asked for again
const PATIENCE = 1e6;      // ns after which words are written
const TURN = 50e3;         // the same where the thread comes back to its event loop
const ANSWER = 30000;      // ms that an answer may take
const DEEP = 250;          // calls that take more of the stack than a request

const LOW = endianness() === 'LE' ? 0 : 1, HIGH = 1 - LOW; // halves of a word

const nap = new Int32Array(new SharedArrayBuffer(4));

let run, channel = -1, thread;
let first = 0;             // where chunks begin in the channel
let offset = 0;            // ms between performance.now() and CLOCK_MONOTONIC, as ns
let cost = 0;              // of an event, in sixteenths of a nanosecond
const words = new Uint32Array(2 * WORDS);
let used = WORDS, written = WORDS; // of the chunk's words: in memory, and in the channel
let chunk = 0, ahead = []; // offsets in the channel
let taken = 0;             // chunks so far
let started = false, asking = false, ending = false;
let lost = 0, told = 0, resumed = 0, wait = 0; // events that found no chunk: all, those cg knows, see Server
let flushed = 0;           // when words were written

let stack = new Int32Array(1024), depth = 0; // sites of the calls that are open
let tasks = [];            // sites of the tasks that are open, the outermost first

/** Opens the channel: "" or why that is not possible. */
function open(settings) {
  run = settings;
  const head = new Uint32Array(4); // magic, version, chunks, the size of one
  try {
    channel = openSync(run.channel, 'r+');
    readSync(channel, head, 0, head.byteLength, 0);
    thread = readlinkSync('/proc/thread-self').split('/');
  } catch (e) {
    return 'the channel cannot be opened: ' + e.message;
  }
  if (head[0] !== 0x48434743 || head[1] !== 4 || head[3] !== CHUNK) return 'the channel is not of this version';
  first = PAGE + Math.ceil((head[2] * 4) / PAGE) * PAGE;
  const [s, ns] = process.hrtime();
  offset = s * 1e9 + ns - apply(now, performance, []) * 1e6;
  calibrate();
  used = written = WORDS;
  process.on('exit', () => {
    ending = true;
    flush();
    if (lost > told) request(`lost\t${String(lost - told).length}\n${lost - told}`);
    told = lost;
  });
  return '';
}

/**
 * Measures what an event costs: the least of some batches. It is measured again while chunks are taken, since the
 * first events of a program are not compiled.
 */
function calibrate() {
  const at = chunk, when = flushed;
  let least = Infinity;
  chunk = 0;
  flushed = Infinity;
  for (let i = 0; i < 12; i++) {
    used = written = 0;
    const begin = process.hrtime();
    for (let k = 0; k < 64; k++) {
      enter(1);
      exit(1);
    }
    const took = process.hrtime(begin);
    least = Math.min(least, took[0] * 1e9 + took[1]);
  }
  cost = Math.min(Math.round((least * 16) / 128), (1 << 28) - 1);
  chunk = at;
  flushed = when;
}

/** Puts the word of an event where the next one goes. turns: the thread comes from its event loop, or back to it. */
function put(event, turns) {
  if (used === WORDS && !room()) {
    lost++;
    return;
  }
  const time = offset + apply(now, performance, []) * 1e6, at = used * 2;
  words[at + LOW] = time;
  words[at + HIGH] = time / 4294967296 + event * 256;
  used++;
  if (time - flushed > (turns ? TURN : PATIENCE) || ending) flush(time);
}

/** Writes the words that the channel has not yet. */
function flush(time = 0) {
  flushed = time;
  const bytes = (used - written) * 8;
  if (bytes === 0 || chunk === 0) return;
  try {
    writeSync(channel, words, written * 8, bytes, chunk + HEAD + written * 8);
  } catch (e) {
    if (e.code === undefined) return; // the stack is full: they are written later
    lost += used - written; // the program has closed the channel
  }
  written = used;
}

/** Calls that need more of the stack than a request to cg: RangeError where it is nearly full. */
function deep(calls) {
  return calls > 0 ? deep(calls - 1) + 1 : 0;
}

/** Gets a chunk for the next words. */
function room() {
  if (asking || lost < wait) return false;
  try {
    deep(DEEP);
  } catch {
    return false; // the next event tries again, above on the stack
  }
  asking = true;
  try {
    flush(flushed);
    if (written < used) return false;
    const full = chunk;
    if (lost > resumed) ahead.forEach(release); // what comes next has to say that some are lost
    if (lost > resumed) ahead = [];
    if (ahead.length === 0) ahead = take();
    if (ahead.length === 0) {
      wait = lost + RETRY;
      return false;
    }
    if ((taken & (taken - 1)) === 0) calibrate(); // 0, 1, 2, 4, 8 ...
    taken++;
    number(cost, ahead[0] + COST);
    if (full) release(full);
    chunk = ahead.shift();
    used = written = 0;
    resumed = lost;
    wait = 0;
    started = true;
    return true;
  } catch {
    wait = lost + RETRY;
    return false;
  } finally {
    asking = false;
  }
}

/** Asks cg for chunks: their offsets. */
function take() {
  const parts = [thread[0], thread[2], started ? 0 : 1, 0, 0, 0, lost - resumed, lost - told, started ? AHEAD : 1];
  told = lost;
  const body = parts.join('\0');
  const answer = request(`chunk\t${body.length}\n${body}`);
  const [kind, offsets] = answer ? answer.toString().split('\0') : [];
  return kind === 'ok' && offsets ? offsets.split(' ').map(Number) : [];
}

/** Gives a chunk to the reader, for good. */
function release(at) {
  number(FULL, PAGE + ((at - first) / CHUNK) * 4);
}

/** Writes a number of 32 bits to the channel. */
function number(value, at) {
  writeSync(channel, new Uint32Array([value]), 0, 4, at);
}

let asked = 0;

/** The answer of cg to a request; undefined if cg is not reached. */
function request(content) {
  const name = `${process.pid}-${threadId}-${++asked}`;
  const file = path.join(path.dirname(run.server), name), pipe = run.server + '.pipe';
  try {
    writeFileSync(file + '.ask', content, { mode: 0o600 });
    const to = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK); // an error where cg is gone
    try {
      writeSync(to, name + '\n');
    } finally {
      closeSync(to);
    }
    const begin = apply(now, performance, []);
    for (let tries = 0; !existsSync(file + '.answer'); tries++) {
      if (apply(now, performance, []) - begin > ANSWER) return undefined;
      if (tries > 20) Atomics.wait(nap, 0, 0, tries > 200 ? 1 : 0.05);
    }
    const answer = readFileSync(file + '.answer');
    unlinkSync(file + '.answer');
    return answer;
  } catch {
    return undefined;
  } finally {
    try {
      unlinkSync(file + '.ask');
    } catch {}
  }
}

function push(site) {
  if (depth === stack.length) {
    const more = new Int32Array(2 * depth);
    more.set(stack);
    stack = more;
  }
  stack[depth++] = site;
}

/** The innermost call of a site leaves the stack with those inside it. */
function pop(site) {
  if (depth > 0 && stack[depth - 1] === site) {
    depth--;
    return;
  }
  let at = depth - 1;
  while (at >= 0 && stack[at] !== site) at--;
  if (at >= 0) depth = at;
}

/**
 * The tasks above a call that leaves: they end where their runner says, and not with the function that began them, so
 * they are put onto what is below it.
 */
function above(site) {
  if (tasks.includes(site)) return [];
  const found = [];
  for (let i = depth - 1; i >= 0; i--) {
    if (stack[i] === site) return found;
    if (tasks.includes(stack[i])) found.push(stack[i]);
  }
  return [];
}

/** A call leaves the stack: its exit, or its suspension. */
function leave(event, site) {
  const kept = tasks.length > 0 ? above(site) : tasks;
  if (kept.length > 0) for (const task of kept) leave(SUSPEND, task);
  pop(site);
  put(event + site, depth === 0);
  if (kept.length > 0) for (const task of kept.reverse()) resume(task);
}

function enter(site) {
  push(site);
  put(site, depth === 1);
}

function exit(site) {
  leave(EXIT, site);
}

function close(site) {
  put((5 << 21) + site, depth === 0);
}

function suspend(site) {
  leave(SUSPEND, site);
}

function resume(site) {
  push(site);
  put(RESUME + site, depth === 1);
}

/** Tells which tasks are open in this thread, the outermost first. */
function openTasks(sites) {
  tasks = sites;
}

/** The answer of cg to a request. What it takes is work for cg. */
function ask(content) {
  put(OWN, false);
  const answer = request(content);
  put(EXIT + OWN, depth === 0);
  return answer;
}

module.exports = { open, enter, exit, close, suspend, resume, openTasks, ask };
