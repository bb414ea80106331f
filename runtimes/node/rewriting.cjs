// Rewrites the sources of the program's own files: cg inserts their checkpoints.
'use strict';

const { ask } = require('./checkpoints.cjs');
const { kept } = require('./kept.cjs');

const { receiveMessageOnPort } = require('node:worker_threads');

const texts = new Map(); // path -> the text with checkpoints
let from, to;            // ports to the thread that has hooks, and to the one that runs modules

/** Takes in texts of another thread that come at a port. */
function receiveAt(port) {
  from = port;
}

/** Passes texts on at a port. */
function sendTo(port) {
  to = port;
}

/** The text with checkpoints of a file, undefined where it has none. */
function textOf(file) {
  for (let m; from && (m = receiveMessageOnPort(from)); ) texts.set(m.message[0], m.message[1]);
  return texts.get(file);
}

// Of a text that something has made (tsx): its map has columns, of a single line at times.
const INLINE_MAP = '//# sourceMappingURL=data:';

// The call of a checkpoint up to its site's number (languages/node/rewrite.go).
const CHECKPOINT = /(cg\$[cersx]\( ?)(\d+)/g;

// How the files of the package of cg sdk begin, which npm links into node_modules.
const PACKAGE = "// This file has no checkpoints of cg's.";

/** Whether a file belongs to the program: it is no package that was installed. */
function isOwn(file) {
  return !file.includes('/node_modules/') && !file.includes('/.yarn/') && !file.includes('/.pnp.');
}

/** A source with checkpoints, or as it is. entry: it is the file that is run. */
function rewritten(run, source, file, entry) {
  const own = isOwn(file);
  if (file[0] !== '/' || file.startsWith(__dirname) || (!own && !run.foreign) || (run.entry && !entry)) return source;
  if (source.startsWith(PACKAGE)) return source;
  if (process.sourceMapsEnabled && source.includes(INLINE_MAP)) {
    ask(run, 'skip', ['', file, 'not instrumented: it was made from another text, and its source map is in use']);
    return source;
  }
  const request = [entry ? '1' : '0', file, own ? '1' : '0', source];
  const [ok, answer] = kept(run, request) || ask(run, 'rewrite', request) || [];
  if (ok !== 'ok' || !answer) return source;
  const at = answer.indexOf('\0');
  const text = numbered(answer.slice(at + 1), Number(answer.slice(0, at)));
  if (to) to.postMessage([file, text]);
  else texts.set(file, text);
  return text;
}

/** A text whose sites 1 ... have the numbers behind base. */
function numbered(text, base) {
  return base === 0 ? text : text.replace(CHECKPOINT, (_, call, site) => call + (base + Number(site)));
}

module.exports = { rewritten, textOf, receiveAt, sendTo };
