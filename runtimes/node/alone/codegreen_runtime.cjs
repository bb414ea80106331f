// Checkpoints for programs that run without cg.
//
// A program saved by "cg analyze --save-instrumented" loads this file first. When it ends it prints one
// block on standard output, and one for each worker:
//
//     --- CODEGREEN_RESULT_START ---
//     {"measurements": [{"checkpoint_id": ..., "timestamp": ..., "joules": ..., "watts": ...}]}
//     --- CODEGREEN_RESULT_END ---
//
// timestamp is process.hrtime.bigint(); joules is the energy that the processor packages used since the
// start of the program, watts their power between the last two readings, both null where
// /sys/class/powercap cannot be read (kernel documentation: power/powercap/powercap.rst). cg recognises the
// block in a program's output and takes it into its report.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Writable } = require('node:stream');
const { isMainThread, threadId } = require('node:worker_threads');

const LIMIT = 1000000; // checkpoints that are kept; later ones are counted as dropped
const PERIOD = 1000000n; // nanoseconds between two readings of the counters
const MOST = 5000; // watts that no package draws: a counter that wraps says less

const now = process.hrtime.bigint;

/** The energy counters of the processor packages and their memory. */
class Counters {
  constructor(root = '/sys/class/powercap') {
    this.zones = [];
    this.joules = this.watts = null;
    let names = [];
    try {
      names = fs.readdirSync(root).filter((name) => name.startsWith('intel-rapl:'));
    } catch {}
    for (const name of names) {
      try {
        const folder = path.join(root, name);
        if (!/^(package|dram)/.test(fs.readFileSync(path.join(folder, 'name'), 'utf8'))) continue;
        const wrap = Number(fs.readFileSync(path.join(folder, 'max_energy_range_uj'), 'utf8')) + 1;
        const file = path.join(folder, 'energy_uj');
        this.zones.push({ file, wrap, value: Number(fs.readFileSync(file, 'utf8')) });
      } catch {} // it is left out
    }
    if (this.zones.length > 0) this.joules = 0;
    this.at = now();
  }

  /** Reads the counters, unless that was less than a period ago. */
  read(time) {
    if (this.zones.length === 0 || time - this.at < PERIOD) return;
    const past = Number(time - this.at);
    let used = 0;
    for (const zone of this.zones) {
      let value;
      try {
        value = Number(fs.readFileSync(zone.file, 'utf8'));
      } catch {
        continue;
      }
      const more = value < zone.value ? value - zone.value + zone.wrap : value - zone.value;
      // else it was reset: what it had is not known
      if (value >= zone.value || more * 1e3 <= MOST * past) used += more;
      zone.value = value;
    }
    this.watts = (used * 1e3) / past;
    this.joules += used * 1e-6;
    this.at = time;
  }
}

// One block for the program: processes that it starts inherit the number of the one that reports, and keep quiet.
process.env.CODEGREEN_REPORTER ??= String(process.pid);
const reports = process.env.CODEGREEN_REPORTER === String(process.pid);

const counters = new Counters();
const names = new Map(); // of sites, by number
const calls = new Map(); // of sites, by number
const events = []; // [time, what, site, call, joules, watts]
const stack = []; // sites of calls that are open and not suspended, the innermost last
let dropped = 0;

function record(what, site) {
  if (events.length >= LIMIT) {
    dropped++;
    return;
  }
  const time = now();
  counters.read(time);
  events.push([time, what, site, calls.get(site) || 0, counters.joules, counters.watts]);
}

/** The innermost call of a site is no longer on the stack, nor are those inside it. */
function leave(site) {
  const at = stack.lastIndexOf(site);
  if (at >= 0) stack.length = at;
}

function enter(site) {
  calls.set(site, (calls.get(site) || 0) + 1);
  stack.push(site);
  record('enter', site);
}

function exit(site) {
  leave(site);
  record('exit', site);
}

function close(site) {
  record('close', site);
}

function suspend(site, value) {
  leave(site);
  record('suspend', site);
  return value;
}

function resume(site, value) {
  stack.push(site);
  record('resume', site);
  return value;
}

/** Tells the names of a file's sites; the first has that number. */
function sites(first, list) {
  list.forEach((name, i) => names.set(first + i, name));
}

/** A text as JSON has it, in ASCII. */
function quoted(text) {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

function measurement([time, what, site, call, joules, watts]) {
  const id = `${what}:${names.get(site) ?? site}:${site}#inv_${call}_t${(threadId + 1).toString(16)}`;
  return `{"checkpoint_id": ${quoted(id)}, "timestamp": ${time}, "joules": ${joules}, "watts": ${watts}}`;
}

/** Writes all of a text to standard output, behind what the program has written. */
function print(text) {
  if (isMainThread && process.stdout.writableLength > 0) { // that waits for a reader: so does this
    Writable.prototype.write.call(process.stdout, text);
    return;
  }
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(1, bytes, at);
    } catch (e) {
      if (e.code !== 'EAGAIN') return;
    }
  }
}

function finish() {
  for (const site of [...stack].reverse()) exit(site);
  if (events.length === 0) return;
  const more = dropped > 0 ? `, "dropped": ${dropped}` : '';
  print('--- CODEGREEN_RESULT_START ---\n' + `{"measurements": [${events.map(measurement).join(', ')}]${more}}\n` +
    '--- CODEGREEN_RESULT_END ---\n');
}

if (!('cg$$e' in globalThis)) {
  const functions = { cg$$e: enter, cg$$x: exit, cg$$c: close, cg$$s: suspend, cg$$r: resume, cg$$n: sites };
  for (const [name, value] of Object.entries(functions)) Object.defineProperty(globalThis, name, { value });
  if (reports) process.on('exit', finish);
}

module.exports = globalThis.cg$$n;
