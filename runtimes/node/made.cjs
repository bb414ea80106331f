// Texts that something has made of others (a transpiler, a runner of tests). They have a source map; cg gives the text
// with checkpoints, and its map (languages/node/made.go).
'use strict';

const path = require('node:path');
const { fileURLToPath } = require('node:url');

const MARK = '\n//# cg made ';
const INLINE = /^\/\/# sourceMappingURL=data:application\/json(?:;charset=[\w-]+)?;base64,([\w+/=]+)[ \t]*$/gm;

/** Which of a map's sources is a file; -1 if none is. A map may hold anything. */
function sourceOf(map, file) {
  const { sources } = map;
  const root = map.sourceRoot ?? '';
  if (!Array.isArray(sources) || typeof root !== 'string') return -1;
  return sources.findIndex((source) => {
    if (typeof source !== 'string') return false;
    if (source.startsWith('file:')) return pathOf(source) === file;
    return path.resolve(path.dirname(file), root, source) === file;
  });
}

/** The path of a URL; undefined for one that is no file's of this machine. */
function pathOf(url) {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

/** A map of JSON, as an object; undefined for what is none that cg can read. */
function mapOf(json) {
  try {
    const map = JSON.parse(json);
    return map && map.version === 3 && typeof map.mappings === 'string' ? map : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A text for cg, with what is known of it. map: the JSON of its source map, '' where it has none. apart: it is the body
 * of a function in another context.
 */
function withMap(text, file, map, apart) {
  const known = map && mapOf(map);
  const what = known ? sourceOf(known, file) + ' ' + Buffer.from(map).toString('base64') : '-1 =' + file;
  return text + MARK + (apart ? 'apart ' : 'here ') + what;
}

/** The text and the map, in Base64, of an answer; undefined where it is none of a text with a map. */
function apartFrom(answer) {
  const at = answer.lastIndexOf(MARK);
  return at < 0 ? undefined : { text: answer.slice(0, at), map: answer.slice(at + MARK.length) };
}

// White space and comments. One that has a backtick may be the rest of a template, which may hold such a line, too.
const REST = /\s+|\/\/[^`\n\r\u2028\u2029]*|\/\*[^`]*?\*\//y;

/** Whether nothing follows a byte of a text but white space and comments. */
function isOver(text, at) {
  while (at < text.length) {
    REST.lastIndex = at;
    if (!REST.test(text)) return false;
    at = REST.lastIndex;
  }
  return true;
}

/** The map that ends a text: where its Base64 begins, the length of that, and the JSON; undefined without one. */
function inlineOf(text) {
  let found;
  for (const m of text.matchAll(INLINE)) found = m;
  if (!found || !isOver(text, found.index + found[0].length)) return undefined;
  const json = Buffer.from(found[1], 'base64').toString();
  return { start: found.index + found[0].indexOf(found[1]), length: found[1].length, json };
}

module.exports = { withMap, apartFrom, inlineOf, mapOf, sourceOf };
