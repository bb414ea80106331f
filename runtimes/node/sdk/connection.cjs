// This file has no checkpoints of cg's.
// The process of cg that measures a session (cg session, docs/session.md of cg): how it is found and started, and
// what is said to it. Messages end with a zero byte. Numbers of tasks are from 1 on.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { performance } = require('node:perf_hooks');

const READY_MS = 15000, STOP_MS = 60000, EXIT_MS = 5000; // how long an answer may take
const MOST_WAITING = 1 << 22;                            // bytes that cg did not take yet
const JOINED = 1 << 15;                                  // bytes that are written at once
const PAUSE_MS = 1, AGAIN_MS = 5;                        // between two writes, and until cg is asked to take more

/** Whether a path is a program. */
function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The path of a program that is named by its path, or by its name in PATH; "" where there is none. */
function program(name) {
  if (!name) return '';
  if (name.includes('/')) return isProgram(name) ? name : '';
  const files = (process.env.PATH || '').split(':').filter(Boolean).map((folder) => path.join(folder, name));
  return files.find(isProgram) || '';
}

/** The path of the cg that writes a ring of samples (nemb/RING.md of cg): it stands in the JSON in front of the samples. */
function writerOf(ring) {
  let fd;
  try {
    fd = fs.openSync(ring, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const head = Buffer.alloc(1 << 16);
    const length = fs.readSync(fd, head, 0, head.length, 0);
    if (length < 64 || head.toString('latin1', 0, 8) !== 'CGSAMPLE') return '';
    const text = head.toString('utf8', 64, Math.min(length, head.readUInt32LE(12)));
    const found = /"writer":("[^"]*")/.exec(text);
    return found ? JSON.parse(found[1]) : '';
  } catch {
    return '';
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

function findCg() {
  return program(process.env.CODEGREEN_CG) || program(process.env.CG_SAMPLES && writerOf(process.env.CG_SAMPLES)) || program('cg');
}

const pause = new Int32Array(new SharedArrayBuffer(4));

// Messages are written by fs.writeSync, not by the stream of the child: what waits in a stream keeps the program alive,
// and is lost with process.exit. A small message takes as much of a socket's buffer as a large one, so they are joined.

class Connection {
  #child;
  #heard = '';    // of a message that is not whole
  #answers = [];  // that came while the program stands still
  #waiting = [];  // who waits for an answer, the first first
  #gone = false;
  #said = [];     // messages that are not written yet
  #unwritten = []; // buffers in front of them, of which cg did not take all
  #bytes = 0;     // of both
  #tryAt = 0;     // bytes from which on a write is tried again
  #wrote = 0;     // when a write was tried last
  #later;         // writes what is left

  /** Starts cg. The first answer is read by hearNow. */
  constructor(cg, options) {
    this.#child = spawn(cg, ['session', ...options], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    const { stdin, stdout } = this.#child;
    for (const end of [this.#child, stdin, stdout]) end.on('error', () => this.#lost());
    for (const end of [this.#child, stdin, stdout]) end.unref();
  }

  /** Hears answers as they come from here on. */
  listen() {
    const { stdout } = this.#child;
    stdout.setEncoding('utf8');
    stdout.on('data', (text) => {
      for (const message of this.#messages(text)) this.#waiting.shift()?.(message);
    });
    stdout.on('close', () => this.#lost());
    stdout.unref();
  }

  #messages(text) {
    const messages = (this.#heard + text).split('\0');
    this.#heard = messages.pop();
    return messages;
  }

  #lost() {
    this.#gone = true;
    for (const answer of this.#waiting.splice(0)) answer(undefined);
  }

  /** Says something. false where cg is gone, or takes nothing. */
  tell(message) {
    if (this.#gone || this.#bytes > MOST_WAITING) return false;
    this.#say(message);
    if (this.#bytes >= this.#tryAt || (this.#unwritten.length === 0 && performance.now() - this.#wrote > PAUSE_MS)) this.#write();
    else this.#writeLater(PAUSE_MS);
    return !this.#gone;
  }

  #say(message) {
    this.#said.push(message + '\0');
    this.#bytes += Buffer.byteLength(message) + 1;
  }

  /** Writes what cg takes now. The rest is written later, if the program goes on. */
  #write() {
    const fd = this.#child.stdin._handle?.fd; // Node tells it in no other way
    if (this.#said.length > 0) this.#unwritten.push(Buffer.from(this.#said.join('')));
    this.#said = [];
    try {
      while (this.#unwritten.length > 0) {
        const [first] = this.#unwritten;
        const length = fs.writeSync(fd, first);
        this.#bytes -= length;
        if (length < first.length) this.#unwritten[0] = first.subarray(length);
        else this.#unwritten.shift();
      }
    } catch (e) {
      if (e.code !== 'EAGAIN' && e.code !== 'EINTR') this.#lost();
      else this.#writeLater(AGAIN_MS);
    }
    this.#tryAt = this.#bytes + JOINED;
    this.#wrote = performance.now();
  }

  #writeLater(ms) {
    if (this.#later) return;
    this.#later = setTimeout(() => {
      this.#later = undefined;
      if (!this.#gone) this.#write();
    }, ms).unref();
  }

  /** The answer to what is said; undefined where none comes in time. The program stays alive for it. */
  async ask(message, patience = STOP_MS) {
    if (this.#gone) return undefined;
    this.#say(message);
    this.#write();
    if (this.#gone) return undefined;
    const { stdout } = this.#child;
    let timer;
    try {
      return await new Promise((resolve) => {
        this.#waiting.push(resolve);
        timer = setTimeout(() => {
          this.#gone = true; // an answer that comes late would be taken for that of the next question
          resolve(undefined);
        }, patience);
        stdout.ref();
      });
    } finally {
      clearTimeout(timer);
      if (this.#waiting.length === 0) stdout.unref();
    }
  }

  /** The next answer, for which the program stands still; undefined where none comes in time. What waits is written meanwhile. */
  hearNow(patience) {
    const until = Date.now() + patience, some = Buffer.alloc(1 << 12);
    const fd = this.#child.stdout._handle?.fd;
    if (!(fd >= 0)) return undefined;
    while (this.#answers.length === 0 && Date.now() < until) {
      if (this.#bytes > 0 && !this.#gone) this.#write();
      try {
        const length = fs.readSync(fd, some);
        if (length === 0) return undefined;
        this.#answers.push(...this.#messages(some.toString('utf8', 0, length)));
      } catch (e) {
        if (e.code !== 'EAGAIN' && e.code !== 'EINTR') return undefined;
        Atomics.wait(pause, 0, 0, 2);
      }
    }
    return this.#answers.shift();
  }

  /** Says that the session ends, and whether cg has written its file then. The program stands still for it. */
  stopNow(patience) {
    if (this.#gone) return false;
    this.#say('stop');
    for (const until = Date.now() + patience; ;) { // answers to questions may be in front
      const answer = this.hearNow(until - Date.now());
      if (answer === undefined || answer === 'closed' || answer === 'failed') return answer !== undefined;
    }
  }

  /** Ends the connection; cg ends with it. */
  close() {
    this.#lost();
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
  }
}

module.exports = { Connection, findCg, READY_MS, STOP_MS, EXIT_MS };
