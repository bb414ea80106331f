// Keeps what a program can see of its own text as it was: the text of a function, and the columns of a
// stack.
'use strict';

const { fileURLToPath, pathToFileURL } = require('node:url');
const { original, column } = require('./text.cjs');
const { textOf } = require('./rewriting.cjs');

const { apply } = Reflect;
const FOLDER = pathToFileURL(__dirname).href;

/** Function.prototype.toString gives the text without insertions. */
function keepTexts() {
  const plain = Function.prototype.toString;
  const name = apply(plain, plain, []);
  const { toString } = {
    toString() {
      if (this === toString) return name;
      const text = apply(plain, this, []);
      return text.includes('cg$') ? original(text) : text;
    },
  };
  Object.defineProperty(Function.prototype, 'toString', { value: toString, writable: true, configurable: true });
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
  const source = file && textOf(file.startsWith('file:') ? fileURLToPath(file) : file);
  if (!source) return text;
  const line = site.getLineNumber(), col = site.getColumnNumber();
  const plain = column(lineOf(source, line), col);
  return plain === col ? text : text.replace(':' + line + ':' + col, ':' + line + ':' + plain);
}

/** A frame with the name of Module._compile, which V8 takes from the object that has it. */
function nameOf(text) {
  const anonymous = 'Module.<anonymous> (node:internal/modules/cjs/loader';
  return text.startsWith(anonymous) ? text.replace('<anonymous>', '_compile') : text;
}

/** A line of a text, from 1. */
function lineOf(text, number) {
  let at = 0;
  for (let n = 1; n < number && at >= 0; n++) at = text.indexOf('\n', at) + 1 || -1;
  if (at < 0) return '';
  const end = text.indexOf('\n', at);
  return end < 0 ? text.slice(at) : text.slice(at, end);
}

/** The first lines of a stack, as Node writes them. */
function headOf(error) {
  const own = Object.getOwnPropertySymbols(error).some((s) => s.description === 'kIsNodeError');
  if (own) return `${error.name} [${error.code}]: ${error.message}`;
  return apply(Error.prototype.toString, error, []);
}

module.exports = { keepTexts, keepStacks };
