// This file has no checkpoints of cg's.
// The process of cg that measures a session (cg session, docs/session.md of cg): how it is found and started, and
// what is said to it. Messages end with a zero byte. Numbers of tasks are from 1 on.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const READY_MS = 15000, STOP_MS = 60000, EXIT_MS = 5000; // how long an answer may take
const MOST_WAITING = 1 << 22;                            // bytes that cg did not take yet

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

class Connection {
  #child;
  #heard = '';    // of a message that is not whole
  #waiting = [];  // who waits for an answer, the first first
  #gone = false;

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
    const { stdin } = this.#child;
    if (this.#gone || stdin.writableLength > MOST_WAITING) return false;
    stdin.write(message + '\0');
    return true;
  }

  /** The answer to what is said; undefined where none comes in time. The program stays alive for it. */
  async ask(message, patience = STOP_MS) {
    if (!this.tell(message)) return undefined;
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

  /** The next answer, for which the program stands still; undefined where none comes in time. */
  hearNow(patience) {
    const until = Date.now() + patience, some = Buffer.alloc(1 << 12);
    const fd = this.#child.stdout._handle?.fd; // Node tells it in no other way
    if (!(fd >= 0)) return undefined;
    while (Date.now() < until) {
      try {
        const length = fs.readSync(fd, some);
        if (length === 0) return undefined;
        const [message] = this.#messages(some.toString('utf8', 0, length));
        if (message !== undefined) return message;
      } catch (e) {
        if (e.code !== 'EAGAIN' && e.code !== 'EINTR') return undefined;
        Atomics.wait(pause, 0, 0, 2);
      }
    }
    return undefined;
  }

  /** Ends the connection; cg ends with it. */
  close() {
    this.#lost();
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
  }
}

module.exports = { Connection, findCg, READY_MS, STOP_MS, EXIT_MS };
