// Files with checkpoints that cg has kept of earlier runs (languages/node/kept.go).
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { numbersOf } = require('./checkpoints.cjs');

const LF = 10;

/** What cg has answered to a request before, as its answer; undefined where nothing is kept. */
function kept(run, request) {
  if (!run.kept) return undefined;
  let content, createHash;
  try {
    ({ createHash } = require('node:crypto')); // not every Node has it
    const name = createHash('sha256').update(run.key + '\0' + request.join('\0')).digest('hex');
    content = readFileSync(path.join(run.kept, name));
  } catch {
    return undefined;
  }
  const lines = [];
  let at = 0;
  for (; lines.length < 3; at = content.indexOf(LF, at) + 1) {
    const end = content.indexOf(LF, at);
    if (end < 0) return undefined;
    lines.push(content.toString('latin1', at, end));
    if (lines.length === 1 && createHash('sha256').update(content.subarray(end + 1)).digest('hex') !== lines[0])
      return undefined;
  }
  const sites = at + Number(lines[2]);
  if (sites === content.length) return ['ok', ''];
  const base = numbersOf(run, request[1], request[2], content.subarray(at, sites), Number(lines[1]));
  return base === undefined ? undefined : ['ok', base + '\0' + content.toString('utf8', sites)];
}

module.exports = { kept };
