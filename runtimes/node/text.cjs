// Takes out of a text what cg has inserted into it. languages/node/rewrite.go has the forms.
'use strict';

const { replace, match } = { replace: RegExp.prototype[Symbol.replace], match: RegExp.prototype[Symbol.matchAll] };
const { apply } = Reflect;

const SITE = '(?:0x[\\da-f]{6}|\\d+)';
const EXIT = '(?:cg\\$w\\?cg\\$c\\(\\d+\\):)?cg\\$x\\(';
const AWAY = '(?:let cg\\$w=0;)?';

const inserted = new RegExp([
  '\\{cg\\$e\\( \\d+ \\);' + AWAY + 'try\\{return\\(',     // an arrow function's expression
  '\\)\\}finally\\{' + EXIT + ' \\d+ \\)\\}\\}',
  '(?:; )?var cg\\$e=[^;]*;',                            // names of a text that runs in another context
  '(?:; )?cg\\$e\\(\\d+\\);' + AWAY + 'try\\{',           // a body
  '(?:; )?cg\\$e\\(\\d+\\) ;' + AWAY,                     // a module's body that stands in no block
  '\\}finally\\{' + EXIT + '\\d+\\)\\}',
  '\\n;' + EXIT + '\\d+\\)',
  ' cg\\$s\\( \\d+ ,void 0,cg\\$w=1\\),cg\\$w=0\\)(?:/\\*\\*/;)?', // a yield without an operand, also at a line's end
  ' cg\\$s\\( \\d+,',                                  // an operand right behind its word
  'cg\\$[rs]\\(\\d+,', ',cg\\$w=1\\)', ',cg\\$w=0\\)',
  '\\{cg\\$w=cg\\$r\\(\\d+,0\\);try\\{',                   // a loop's body
  '\\}finally\\{cg\\$w=cg\\$s\\(\\d+,1\\)\\}\\}',
  '\\{cg\\$w;try\\{', '\\}finally\\{cg\\$w&&\\(cg\\$w=cg\\$r\\(\\d+,0\\)\\)\\}\\}',
  'cg\\$w&&\\(cg\\$w=cg\\$r\\(\\d+,0\\)\\);',
].map((form) => form.replaceAll('\\d+', SITE)).join('|'), 'g');

/** A text without what was inserted into it. */
function original(text) {
  return apply(replace, inserted, [text, '']);
}

/** The insertions of a line: where each begins and ends, and how many characters there are up to its end. */
function insertionsOf(line) {
  const found = { starts: [], ends: [], sums: [] };
  let sum = 0, n = 0;
  for (const { index, 0: { length } } of apply(match, inserted, [line])) {
    found.starts[n] = index;
    found.ends[n] = index + length;
    found.sums[n++] = sum += length;
  }
  return found;
}

/** The column, from 1, that one of a line with these insertions had before. */
function column({ starts, ends, sums }, col) {
  let low = 0, high = starts.length; // of those that begin in front of it
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] < col - 1) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return col;
  const last = low - 1;
  return col - sums[last] + Math.max(0, ends[last] - (col - 1));
}

module.exports = { original, insertionsOf, column };
