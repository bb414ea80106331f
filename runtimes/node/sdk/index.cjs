// This file has no checkpoints of cg's.
// codegreen tells what named parts of a program cost in joules. cg measures, in a process of its own; docs/session.md
// of cg has the rules.
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const fs = require('node:fs');
const path = require('node:path');
const { isPromise } = require('node:util').types;
const { isMainThread, threadId } = require('node:worker_threads');
const { Connection, findCg, READY_MS, STOP_MS, EXIT_MS } = require('./connection.cjs');
const { budgets } = require('./budget.cjs');
const servers = require('./servers.cjs');
const { annotateRequest, beginRequest, droppedAnnotations } = require('./requests.cjs');

const running = new AsyncLocalStorage(); // the task that a chain of calls belongs to
const UNIT = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const MOST_NAME = 4000; // bytes

let active;      // the session of this thread
let unnamed = 0; // sessions so far whose file has its name by default

const now = () => process.hrtime.bigint(); // CLOCK_MONOTONIC, which the samples have

function say(text) {
  process.stderr.write('codegreen: ' + text + '\n');
}

/** A name as cg takes it: without zero bytes, and not too long. */
function plain(name) {
  const text = String(name).replaceAll('\0', '\uFFFD');
  if (Buffer.byteLength(text) <= MOST_NAME) return text;
  return Buffer.from(text).toString('utf8', 0, MOST_NAME).replace(/\uFFFD$/, '');
}

/** A part of the program. Without a session, and behind its end, methods do nothing. */
class Task {
  #session;
  #number;
  #parent;
  #inside = new Set(); // tasks that are open in it
  #open = true;

  /** @private tasks are made by a session. */
  constructor(session, number, name, parent) {
    this.#session = session;
    this.#number = number;
    this.#parent = parent;
    this.name = name;
    if (!session) this.#open = false;
    if (parent) parent.#inside.add(this);
  }

  get isOpen() {
    return this.#open;
  }

  /** The innermost task around this one, itself included, that is open and of a session; undefined if there is none. */
  within(session) {
    for (let t = this; t; t = t.#parent) if (t.#open && t.#session === session) return t;
    return undefined;
  }

  /** @private */
  get number() {
    return this.#number;
  }

  /** Ends the task. It is an error while a task is open in it; a task that is over stays as it is. */
  end() {
    if (this.#inside.size > 0) {
      const [inside] = this.#inside;
      throw new Error(`codegreen: task ${JSON.stringify(inside.name)} is open inside ${JSON.stringify(this.name)}: end it first`);
    }
    this.#close(now());
  }

  /** Ends the task and what is open in it. */
  endAll() {
    for (const t of [...this.#inside]) t.endAll();
    this.#close(now());
  }

  #close(at) {
    if (!this.#open) return;
    this.#open = false;
    if (this.#parent) this.#parent.#inside.delete(this);
    this.#session.tell(`end ${this.#number} ${at}`);
  }

  /** @private the session is over. */
  forget() {
    this.#open = false;
    this.#inside.clear();
  }

  /** Gives the task another name while it is open. */
  rename(name) {
    if (!this.#open) return;
    this.name = plain(name);
    this.#session.tell(`name ${this.#number} ${this.name}`);
  }

  /** Tells that the task has done n units of work, such as tokens, requests, rows. */
  count(n, unit = 'unit') {
    if (typeof n !== 'number' && typeof n !== 'bigint') throw new TypeError(`codegreen: count: ${typeof n} is no number`);
    const value = Number(n);
    if (!(value > 0) || value === Infinity) throw new RangeError(`codegreen: count: ${n} is no number above 0`);
    if (typeof unit !== 'string' || !UNIT.test(unit)) {
      throw new RangeError(`codegreen: count: ${JSON.stringify(unit)} is no unit: use letters, digits, _ and -, with a letter or _ in front`);
    }
    if (!this.#session) return;
    const bits = Buffer.alloc(8);
    bits.writeDoubleBE(value);
    this.#session.tell(`count ${this.#number} ${bits.readBigInt64BE()} ${unit}`);
  }

  /** The energy of a task that is over, before the session's end: some 20 ms behind the task's end. NaN is unknown. */
  async energy() {
    if (this.#open) throw new Error(`codegreen: task ${JSON.stringify(this.name)} is open: end it first`);
    const answer = this.#session && (await this.#session.ask(`energy ${this.#number}`));
    const words = (answer || '').split(' ').slice(1);
    const [energyJ = NaN, loJ = NaN, hiJ = NaN, programJ = NaN, programLoJ = NaN, programHiJ = NaN] = words
      .slice(0, 6)
      .map(joules);
    return { energyJ, loJ, hiJ, programJ, programLoJ, programHiJ, kind: words[6] || 'unavailable', gpus: gpusOf(words.slice(7)) };
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.endAll();
  }
}

/** Joules of microjoules in an answer. */
function joules(uj) {
  return uj === '-1' ? NaN : Number(uj) / 1e6;
}

/** Whose the energy of GPUs was: words are those of an answer, some for each GPU. */
function gpusOf(words) {
  const gpus = [];
  for (let i = 0; i + GPU_WORDS <= words.length; i += GPU_WORDS) {
    const [domain, method, reason, used] = words.slice(i, i + 4);
    const [energyJ, programJ, programLoJ, programHiJ, otherJ, idleJ, unattributedJ] = words.slice(i + 4, i + GPU_WORDS).map(joules);
    gpus.push({ domain, method, reason: reason === '-' ? '' : reason, used: used === '1', energyJ, programJ, programLoJ, programHiJ, otherJ, idleJ, unattributedJ });
  }
  return gpus;
}

const GPU_WORDS = 11; // of an answer, for each GPU
const FORMATS = ['auto', 'json', 'csv', 'none'];

/** The arguments of cg session for the options of a session. */
function optionsOf(name, o, file) {
  const all = ['--pid', String(process.pid), '--name', plain(name), '--output', file, '--format', format(o),
    '--language', 'javascript', '--language-version', process.version.slice(1)];
  if (o.sampleIntervalMs !== undefined) all.push('--interval-us', String(Math.round(within(o, 'sampleIntervalMs', 0.1, 60000) * 1000)));
  if (o.bufferSamples !== undefined) all.push('--buffer', String(within(o, 'bufferSamples', 16, 1048576)));
  if (o.recordTimeSeries) all.push('--time-series');
  if (o.warnOnConcurrent === false) all.push('--alone');
  if (o.gauges !== undefined) all.push('--gauges', [].concat(o.gauges).join(','));
  if (o.gaugeIntervalMs !== undefined) all.push('--gauge-interval-ms', String(within(o, 'gaugeIntervalMs', 100, 60000)));
  return all;
}

function format({ outputFormat = 'auto', saveToFile = true }) {
  if (!FORMATS.includes(outputFormat)) throw new RangeError(`codegreen: outputFormat ${JSON.stringify(outputFormat)}: use ${FORMATS.join(', ')}`);
  return saveToFile ? outputFormat : 'none';
}

function within(options, key, least, most) {
  const value = options[key];
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    throw new RangeError(`codegreen: ${key} ${value}: use a number from ${least} to ${most}`);
  }
  return value;
}

const KNOWN = ['outputFile', 'outputFormat', 'saveToFile', 'warnOnConcurrent', 'recordTimeSeries', 'bufferSamples',
  'sampleIntervalMs', 'gauges', 'gaugeIntervalMs'];

/** Measures tasks until it is stopped, or the program ends. A thread has one at a time. */
class Session {
  #connection;
  #tasks = 0;
  #open = new Set();
  #options;
  #state = 'new'; // started, stopped
  #file = '';
  #deaf = false;

  constructor(name = 'default', options = {}) {
    for (const key of Object.keys(options)) {
      if (!KNOWN.includes(key)) throw new TypeError(`codegreen: no option ${JSON.stringify(key)}: use ${KNOWN.join(', ')}`);
    }
    this.name = String(name);
    this.#options = { ...options };
    optionsOf(this.name, this.#options, ''); // which refuses what means nothing
  }

  /** Starts a session. */
  static start(name, options) {
    return new Session(name, options).start();
  }

  /** The path of its file, "" where there is none. */
  get file() {
    return this.#file;
  }

  /** Begins to measure; the program waits for cg's first sample. Where nothing can measure, there is a line on standard error. */
  start() {
    if (this.#state !== 'new') throw new Error('codegreen: a session starts once');
    if (active) throw new Error(`codegreen: a session is active in this ${isMainThread ? 'process' : 'thread'} already: ${JSON.stringify(active.name)}`);
    this.#state = 'started';
    active = this;
    const cg = findCg();
    if (!cg) {
      say('no energy can be measured here, and no file is written: cg is not in PATH, and CODEGREEN_CG does not name it');
      return this;
    }
    const o = this.#options, csv = o.outputFormat === 'csv';
    const parts = [process.pid, isMainThread ? '' : 't' + threadId, unnamed > 0 ? unnamed + 1 : ''].filter(Boolean);
    const file = o.outputFile === undefined ? `codegreen_${parts.join('_')}.${csv ? 'csv' : 'json'}` : String(o.outputFile);
    const connection = new Connection(cg, optionsOf(this.name, o, file));
    const answer = connection.hearNow(READY_MS) || '';
    if (answer.startsWith('refused ')) {
      connection.close();
      this.#over();
      throw new Error('codegreen: ' + answer.slice('refused '.length));
    }
    if (!answer.startsWith('ready ')) {
      connection.close();
      say('no energy can be measured here, and no file is written: it has no session, or does not answer: ' + cg);
      return this;
    }
    if (o.outputFile === undefined) unnamed++;
    this.#file = answer.slice('ready '.length);
    this.#connection = connection;
    connection.listen();
    process.once('exit', this.#atExit);
    return this;
  }

  #atExit = () => {
    if (this.#connection && !this.#connection.stopNow(EXIT_MS)) say('cg did not say yet that it wrote ' + this.#file);
  };

  #over() {
    this.#state = 'stopped';
    if (active === this) active = undefined;
    for (const t of this.#open) t.forget();
    this.#open.clear();
    process.removeListener('exit', this.#atExit);
  }

  /** @private */
  tell(message) {
    if (!this.#connection) return false;
    if (this.#connection.tell(message)) return true;
    if (!this.#deaf) say('cg is gone, or takes nothing: tasks from here on are not measured');
    this.#deaf = true;
    return false;
  }

  /** @private */
  async ask(message) {
    return this.#connection && this.#connection.ask(message);
  }

  /** Begins a task inside that of this chain of calls, or inside another. The caller ends it. */
  startTask(name, { parent = running.getStore() } = {}) {
    if (this.#state !== 'started') return new Task(undefined, 0, String(name));
    const around = parent && parent.within(this);
    const task = new Task(this, ++this.#tasks, plain(name), around);
    this.#open.add(task);
    if (this.#open.size > 1000) for (const t of this.#open) if (!t.isOpen) this.#open.delete(t);
    this.tell(`begin ${task.number} ${around ? around.number : 0} ${process.pid} ${now()} ${task.name}`);
    return task;
  }

  /** Calls a function as a task, which ends when it returns, throws, or when its promise is settled. Gives what it gives. */
  task(name, f) {
    const task = this.startTask(name);
    return during(task, () => running.run(task, f, task));
  }

  /** Calls a function inside a task, which it does not end. */
  run(task, f, ...args) {
    return running.run(task, f, ...args);
  }

  /** Ends the session and writes its file. Gives what stands in it, where it is JSON. */
  async stop() {
    if (this.#state !== 'started') return undefined;
    const answer = await this.ask('stop');
    const connection = this.#connection;
    this.#connection = undefined;
    this.#over();
    if (!connection) return undefined;
    connection.close();
    if (answer === undefined) say('cg is gone, or does not answer; it did not say that it wrote ' + this.#file);
    if (answer !== 'closed' || !this.#file || path.extname(this.#file) === '.csv' || ['csv', 'none'].includes(format(this.#options))) return undefined;
    try {
      return JSON.parse(fs.readFileSync(this.#file, 'utf8'));
    } catch (e) {
      say(`${this.#file}: ${e.message}`);
      return undefined;
    }
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.stop();
  }
}

/** Ends a task with a call. */
function during(task, call) {
  let result;
  try {
    result = call();
  } catch (e) {
    task.endAll();
    throw e;
  }
  // What only has a method then may begin its work by it, as the queries of databases do, so it is left alone.
  if (isPromise(result)) {
    return result.then(
      (value) => {
        task.endAll();
        return value;
      },
      (e) => {
        task.endAll();
        throw e;
      },
    );
  }
  task.endAll();
  return result;
}

const NO_CALL = /Generator/; // of the names of kinds of functions
const CLASS = /^class\s*[^\s(]/; // of the text of a function

/** A function each of whose calls is a task of the session that is active then. */
function wrapped(name, f) {
  if (typeof f !== 'function') throw new TypeError('codegreen: task: give it a name or a function');
  if (NO_CALL.test(Object.prototype.toString.call(f))) {
    throw new TypeError(`codegreen: task: ${f.name} is a generator, whose call does nothing: make a task of what uses it`);
  }
  if (CLASS.test(Function.prototype.toString.call(f))) {
    throw new TypeError(`codegreen: task: ${f.name || 'this'} is a class: make tasks of its methods`);
  }
  const { [f.name]: made } = {
    [f.name](...args) {
      return active ? active.task(name, () => Reflect.apply(f, this, args)) : Reflect.apply(f, this, args);
    },
  };
  return Object.defineProperty(made, 'length', { value: f.length, configurable: true });
}

/**
 * Makes each call of a function a task: task(f), task('name')(f), or as a decorator of a method, @task and
 * @task('name'), of ECMAScript and of TypeScript's experimentalDecorators.
 */
function task(first, ...more) {
  return typeof first === 'string' ? (...of) => decorated(first, ...of) : decorated(undefined, first, ...more);
}

function decorated(name, target, key, descriptor) {
  if (descriptor && typeof descriptor.value === 'function') { // experimentalDecorators
    return { ...descriptor, value: wrapped(name ?? String(key), descriptor.value) };
  }
  const named = key && key.kind ? key.name : target && target.name; // key is a decorator's context
  return wrapped(name ?? String(named || '<anonymous>'), target);
}

/** The task that this chain of calls belongs to; undefined where there is none that is open. */
function current() {
  const task = running.getStore();
  return task && active && task.within(active);
}

/** Counts units of work in the current task. Without one it counts nothing. */
function count(n, unit) {
  const task = current();
  if (task) task.count(n, unit);
}

// What the routes of a server take part in: the session that is active when a request comes.
const context = {
  startTask: (name) => (active ? active.startTask(name) : new Task(undefined, 0, name)),
  run: (task, f, ...args) => running.run(task, f, ...args),
};

/** The session that is active, or one of a test's own, and what ends that. */
function sessionOfTest() {
  if (active) return [active, () => {}];
  const own = Session.start('node:test', { saveToFile: false });
  return [own, () => own.stop()];
}

module.exports = {
  annotateRequest, beginRequest, droppedAnnotations,
  Session, task, current, count, budget: budgets(sessionOfTest),
  express: () => servers.express(context), fastify: servers.fastify(context),
};
