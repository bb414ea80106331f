// Takes out of a text what cg has inserted into it. languages/node/rewrite.go has the forms.
'use strict';

const { replace, match } = { replace: RegExp.prototype[Symbol.replace], match: RegExp.prototype[Symbol.matchAll] };
const { apply } = Reflect;

const EXIT = '(?:cg\\$w\\?cg\\$c\\(\\d+\\):)?cg\\$x\\(';
const AWAY = '(?:let cg\\$w=0;)?';

const inserted = new RegExp([
  '\\{cg\\$e\\( \\d+ \\);' + AWAY + 'try\\{return\\(',     // an arrow function's expression
  '\\)\\}finally\\{' + EXIT + ' \\d+ \\)\\}\\}',
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
].join('|'), 'g');

/** A text without what was inserted into it. */
function original(text) {
  return apply(replace, inserted, [text, '']);
}

/** The column, from 1, that one of a line with insertions had before. */
function column(line, col) {
  let less = 0;
  for (const found of apply(match, inserted, [line])) {
    const end = found.index + found[0].length;
    if (end <= col - 1) less += found[0].length;
    else if (found.index < col - 1) less += col - 1 - found.index;
  }
  return col - less;
}

module.exports = { original, column };
