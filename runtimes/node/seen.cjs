// Keeps what a program can see of its own text as it was: the text of a function, and the columns of a
// stack.
'use strict';

const { fileURLToPath, pathToFileURL } = require('node:url');
const { original, insertionsOf, column } = require('./text.cjs');
const { textOf } = require('./rewriting.cjs');

const { apply } = Reflect;
const FOLDER = pathToFileURL(__dirname).href;

/** Function.prototype.toString gives the text without insertions. */
function keepTexts() {
  textsOf(Function.prototype);
}

/** So does that of another context. */
function textsOf(prototype) {
  const plain = prototype.toString;
  const name = apply(plain, plain, []);
  const { toString } = {
    toString() {
      if (this === toString) return name;
      const text = apply(plain, this, []);
      return text.includes('cg$') ? original(text) : text;
    },
  };
  Object.defineProperty(prototype, 'toString', { value: toString, writable: true, configurable: true });
}

/** Stacks have the columns of the user's files, and no frames of cg's. */
function keepStacks() {
  const before = Error.prepareStackTrace;
  const { prepareStackTrace } = {
    prepareStackTrace(error, trace) {
      const frames = [];
      for (const site of trace) {
        const file = site.getFileName();
        if (file && (file.startsWith(__dirname) || file.startsWith(FOLDER))) continue;
        frames.push(placed(site, file));
      }
      if (before) return apply(before, this, [error, frames]);
      const head = headOf(error);
      return frames.length === 0 ? head : head + '\n    at ' + frames.join('\n    at ');
    },
  };
  // Where source maps are enabled, Node makes stacks in its own way, unless the program has set this.
  let theirs, isTheirs = false;
  Object.defineProperty(Error, 'prepareStackTrace', {
    get: () => (isTheirs ? theirs : process.sourceMapsEnabled ? before : prepareStackTrace),
    set(value) {
      theirs = value;
      isTheirs = value !== prepareStackTrace;
    },
    configurable: true,
  });
}

/** A frame as V8 writes it, with the column that it has in the user's file. */
function placed(site, file) {
  const text = nameOf(String(site));
  const line = site.getLineNumber(), col = site.getColumnNumber();
  const insertions = file && insertionsAt(file, line);
  if (!insertions) return text;
  const plain = column(insertions, col);
  return plain === col ? text : text.replace(':' + line + ':' + col, ':' + line + ':' + plain);
}

/** A frame with the name of Module._compile, which V8 takes from the object that has it. */
function nameOf(text) {
  const anonymous = 'Module.<anonymous> (node:internal/modules/cjs/loader';
  return text.startsWith(anonymous) ? text.replace('<anonymous>', '_compile') : text;
}

// Of each file of a stack: its text, where its lines begin, and the insertions of lines that were asked for.
const known = new Map();

/** The insertions of a file's line, from 1; undefined where the file has none. */
function insertionsAt(file, line) {
  const text = textOf(file.startsWith('file:') ? fileURLToPath(file) : file);
  if (!text) return undefined;
  let of = known.get(file);
  if (!of || of.text !== text) known.set(file, (of = { text, starts: startsOf(text), lines: new Map() }));
  let insertions = of.lines.get(line);
  if (!insertions) {
    insertions = insertionsOf(text.slice(of.starts[line - 1], of.starts[line]));
    of.lines.set(line, insertions);
  }
  return insertions;
}

/** Where the lines of a text begin, as V8 counts them. */
function startsOf(text) {
  const starts = [0];
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 10 || (c === 13 && text.charCodeAt(at + 1) !== 10) || c === 0x2028 || c === 0x2029) starts.push(at + 1);
  }
  return starts;
}

/** The first lines of a stack, as Node writes them. */
function headOf(error) {
  const own = Object.getOwnPropertySymbols(error).some((s) => s.description === 'kIsNodeError');
  if (own) return `${error.name} [${error.code}]: ${error.message}`;
  return apply(Error.prototype.toString, error, []);
}

module.exports = { keepTexts, textsOf, keepStacks };
