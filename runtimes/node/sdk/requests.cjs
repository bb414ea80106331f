// This file has no checkpoints of cg's.
// annotateRequest tells cg which requests begin and end (docs/monitor.md of cg): lines of JSON at a socket. Nobody
// waits for who listens: what does not fit is dropped, and counted.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { isPromise } = require('node:util').types;
const { performance } = require('node:perf_hooks');
const { isMainThread } = require('node:worker_threads');
const { REQUEST_NAME_MOST, REQUEST_RETRY_NS, REQUEST_SOCKET_VARIABLE, REQUEST_UNSENT_MOST } = require('./spec.cjs');

const FULL_MS = 1; // a socket that is full is not tried again before: Node says so by an exception, which takes long
const LOOKS = 5, LOOK_MS = 100; // at a new connection that is full

const connections = new Map(); // by the path of the socket

/** A name as a text. One that cannot be made a text is '?'. */
function nameOf(name) {
  try {
    return String(name);
  } catch {
    return '?';
  }
}

/** The path of the socket that is named; '' without one. */
function socketOf(options) {
  try {
    const { socket = process.env[REQUEST_SOCKET_VARIABLE] } = options ?? {};
    return socket ? String(socket) : '';
  } catch {
    return '';
  }
}

/** A time in so many parts of a second. */
function seconds(time, parts, digits) {
  return `${Math.floor(time / parts)}.${String(time % parts).padStart(digits, '0')}`;
}

/**
 * What is said of a request: that it begins, or with null as the name, that it ends. Times are since 1970; tid is 0
 * and cpuNs negative where they are not known.
 */
function line(number, name, atUs, tid, cpuNs) {
  let text = `{"annotate":"request","id":${number}`;
  if (name !== null) {
    let short = String(name).trim();
    if (short.length > REQUEST_NAME_MOST) short = [...short].slice(0, REQUEST_NAME_MOST).join('');
    text += `,"name":${JSON.stringify(short || '?')}`;
  }
  text += `,"${name === null ? 'end' : 'begin'}":${seconds(atUs, 1e6, 6)}`;
  if (tid > 0) {
    text += `,"tid":${tid}`;
    if (cpuNs >= 0) text += `,"cpu":${seconds(cpuNs, 1e9, 9)}`;
  }
  return text + '}\n';
}

let wallUs = NaN; // of the wall's clock at the beginning of performance.now

/** Microseconds since 1970. Date.now has milliseconds, and performance.timeOrigin does not know of a clock that was set. */
function now() {
  const wall = Date.now() * 1000, mono = Math.floor(performance.now() * 1000);
  if (!(Math.abs(wallUs + mono - wall) < 2000)) wallUs = wall - mono;
  return wallUs + mono;
}

let own; // the kernel's number of this thread, 0 where it is not known

function thread() {
  if (own === undefined) {
    own = isMainThread ? process.pid : 0;
    try {
      own = Number(/\d+$/.exec(fs.readlinkSync('/proc/thread-self'))[0]);
    } catch {
      // No /proc.
    }
  }
  return own;
}

/** What this thread has used in ns; -1 where Node does not tell (before 23.9), and cg asks the kernel. */
function used() {
  if (!process.threadCpuUsage) return -1;
  const { user, system } = process.threadCpuUsage();
  return Math.round((user + system) * 1000);
}

class Connection {
  dropped = 0;
  #path;
  #socket;       // undefined without a connection
  #serial = 1;   // of the connection
  #number = 0;   // of the last request
  #triedMs;
  #fullMs = -Infinity; // when the socket was full last
  #unsent = [];  // ends that did not fit

  constructor(path) {
    this.#path = path;
  }

  /** The numbers of the connection and of the request; undefined where nobody heard of it. */
  begin(name) {
    const number = ++this.#number;
    if (this.#connected() && this.#flush() && this.#write(line(number, nameOf(name), now(), thread(), used()))) {
      return [this.#serial, number];
    }
    this.dropped++;
    return undefined;
  }

  end([serial, number]) {
    if (serial !== this.#serial) return; // its connection is closed, and it has ended with that
    const text = line(number, null, now(), thread(), used());
    if ((this.#flush() && this.#write(text)) || serial !== this.#serial) return;
    if (this.#unsent.length >= REQUEST_UNSENT_MOST) {
      this.dropped++;
      this.#close();
      return;
    }
    this.#unsent.push(text);
  }

  /** The program ends. */
  leave() {
    this.#fullMs = -Infinity;
    this.#flush();
  }

  #connected() {
    if (this.#socket) return true;
    const ms = performance.now();
    if (this.#triedMs !== undefined && ms - this.#triedMs < REQUEST_RETRY_NS / 1e6) return false;
    this.#triedMs = ms;
    let socket;
    try {
      socket = net.connect(this.#path);
    } catch { // no path
      return false;
    }
    socket.on('error', () => {}).on('close', () => {
      if (this.#socket === socket) this.#close();
    });
    socket.unref();
    if (!(socket._handle?.fd >= 0)) { // a socket of the file system is connected at once, or not at all
      socket.destroy();
      return false;
    }
    this.#socket = socket;
    this.#watch(socket, LOOKS);
    return true;
  }

  /** Node takes a socket that is full for one that is not connected yet, and would not end the program before it is. */
  #watch(socket, looks) {
    setTimeout(() => {
      if (this.#socket !== socket || !socket.connecting) return;
      if (looks > 1) this.#watch(socket, looks - 1);
      else this.#close();
    }, LOOK_MS).unref();
  }

  /** Whether a line was taken, whole. What waits in a stream is lost with process.exit, so the socket itself is written. */
  #write(text) {
    const fd = this.#socket?._handle?.fd; // Node tells it in no other way
    if (!(fd >= 0)) {
      if (this.#socket) this.#close();
      return false;
    }
    if (performance.now() - this.#fullMs < FULL_MS) return false;
    const bytes = Buffer.from(text);
    try {
      if (fs.writeSync(fd, bytes) === bytes.length) return true;
    } catch (e) {
      if (e.code === 'EAGAIN') {
        this.#fullMs = performance.now();
        return false;
      }
    }
    this.#close(); // half a line, or nobody listens any more: who listens ends the requests
    return false;
  }

  /** Says the ends that did not fit before; whether none is left. */
  #flush() {
    let said = 0;
    while (said < this.#unsent.length && this.#write(this.#unsent[said])) said++;
    if (said > 0) this.#unsent.splice(0, said);
    return this.#unsent.length === 0;
  }

  #close() {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#unsent = [];
    this.#serial++;
  }
}

/** A request that has begun. Only the first end says so. */
class Request {
  #to;
  #begun;

  /** @private requests are made by beginRequest. */
  constructor(to, begun) {
    this.#to = to;
    this.#begun = begun;
  }

  end() {
    const begun = this.#begun;
    this.#begun = undefined;
    if (begun) this.#to.end(begun);
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.end();
  }
}

function leave() {
  for (const c of connections.values()) c.leave();
}

function beginRequest(name, options) {
  const path = socketOf(options);
  if (!path) return new Request();
  let to = connections.get(path);
  if (connections.size === 0) process.once('exit', leave);
  if (!to) connections.set(path, (to = new Connection(path)));
  return new Request(to, to.begin(name));
}

function annotateRequest(name, f, options) {
  if (typeof f !== 'function') throw new TypeError('codegreen: annotateRequest: give it a name and a function');
  const request = beginRequest(name, options);
  let result;
  try {
    result = f();
  } catch (e) {
    request.end();
    throw e;
  }
  if (!isPromise(result)) {
    request.end();
    return result;
  }
  return result.finally(() => request.end());
}

/** How many beginnings and ends of requests could not be said, since nobody listened or took them. */
function droppedAnnotations() {
  let sum = 0;
  for (const c of connections.values()) sum += c.dropped;
  return sum;
}

module.exports = { annotateRequest, beginRequest, droppedAnnotations, line };
