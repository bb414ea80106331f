// Rewrites the sources of the program's own files: cg inserts their checkpoints.
'use strict';

const { ask } = require('./checkpoints.cjs');

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
  const answer = ask(run, 'rewrite', [entry ? '1' : '0', file, own ? '1' : '0', source]);
  if (!answer || answer[0] !== 'ok' || !answer[1]) return source;
  if (to) to.postMessage([file, answer[1]]);
  else texts.set(file, answer[1]);
  return answer[1];
}

module.exports = { rewritten, textOf, receiveAt, sendTo };
