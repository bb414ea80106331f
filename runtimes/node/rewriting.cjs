// Rewrites the sources of the program's own files: cg inserts their checkpoints.
'use strict';

const { ask } = require('./checkpoints.cjs');
const { kept } = require('./kept.cjs');
const { withMap, apartFrom, inlineOf, mapOf, sourceOf } = require('./made.cjs');

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
const CHECKPOINT = /(cg\$[cersx]\( ?)(0x[\da-f]+|\d+)/g;

// How the files of the package of cg sdk begin, which npm links into node_modules.
const PACKAGE = "// This file has no checkpoints of cg's.";

/** Whether a file belongs to the program: it is no package that was installed. */
function isOwn(file) {
  return !file.includes('/node_modules/') && !file.includes('/.yarn/') && !file.includes('/.pnp.');
}

/** Whether a file may get checkpoints. */
function isWanted(run, source, file, entry) {
  if (file[0] !== '/' || file.startsWith(__dirname) || (run.entry && !entry)) return false;
  return (isOwn(file) || run.foreign) && !source.startsWith(PACKAGE);
}

/** A source with checkpoints, or as it is. entry: it is the file that is run. No fault of cg's reaches the program. */
function rewritten(run, source, file, entry) {
  try {
    return checkpointed(run, source, file, entry);
  } catch (e) {
    try {
      ask(run, 'skip', ['', file, 'not instrumented: ' + e]);
    } catch {} // no stack is left, at times
    return source;
  }
}

function checkpointed(run, source, file, entry) {
  if (!isWanted(run, source, file, entry)) return source;
  const inline = source.includes(INLINE_MAP) ? inlineOf(source) : undefined;
  const map = inline && mapOf(inline.json);
  if (map && (process.sourceMapsEnabled || sourceOf(map, file) >= 0)) {
    const made = rewrittenMade(run, source, file, inline.json, false, entry);
    if (!made) return source;
    const at = made.text.lastIndexOf(source.slice(inline.start, inline.start + inline.length));
    return keepText(file, made.text.slice(0, at) + made.map + made.text.slice(at + inline.length));
  }
  if (process.sourceMapsEnabled && source.includes(INLINE_MAP)) {
    ask(run, 'skip', ['', file, 'not instrumented: it was made from another text, and its source map is in use']);
    return source;
  }
  const text = asked(run, source, file, entry);
  return text === undefined ? source : keepText(file, text);
}

/** Keeps the text with checkpoints of a file, for stacks. */
function keepText(file, text) {
  if (to) to.postMessage([file, text]);
  else texts.set(file, text);
  return text;
}

/**
 * A text that something has made of a file, with checkpoints, and its map in Base64; undefined where it gets none. map
 * is the JSON of its map, '' where it has none. apart: it is the body of a function in another context.
 */
function rewrittenMade(run, source, file, map, apart, entry) {
  if (!isWanted(run, source, file, entry)) return undefined;
  const answer = asked(run, withMap(source, file, map, apart), file, entry);
  return answer && apartFrom(answer);
}

/** A source with checkpoints; undefined where it gets none. */
function asked(run, source, file, entry) {
  const request = [entry ? '1' : '0', file, isOwn(file) ? '1' : '0', source];
  const [ok, answer] = kept(run, request) || ask(run, 'rewrite', request) || [];
  if (ok !== 'ok' || !answer) return undefined;
  const at = answer.indexOf('\0');
  return numbered(answer.slice(at + 1), Number(answer.slice(0, at)));
}

/** A text whose sites 1 ... have the numbers behind base. Those of a text with a map keep their width. */
function numbered(text, base) {
  if (base === 0) return text;
  return text.replace(CHECKPOINT, (_, call, site) => {
    const number = base + Number(site);
    return call + (site[1] === 'x' ? '0x' + number.toString(16).padStart(6, '0') : number);
  });
}

module.exports = { rewritten, rewrittenMade, textOf, receiveAt, sendTo };
