// This file has no checkpoints of cg's.
// node --test --test-reporter codegreen/junit: Node's own reporter, with the figures of budgets as properties (docs/budgets.md of cg).
import { junit } from 'node:test/reporters';

// The line of budget.cjs; whatever else a test tells remains a comment.
const FIGURES = /^(\t*)<!-- (energy_budget_j=[\w.+-]+(?: energy_(?:verdict|j|lo_j|hi_j|kind|runs)=[\w.+-]*)*) -->$/;

/** Puts the figures of each line of them into the test in front of it, which stands at the same depth. */
function withProperties(lines) {
  const out = [];
  for (const line of lines) {
    const [, tabs, figures] = FIGURES.exec(line) || [];
    if (figures === undefined || !insert(out, tabs, figures)) out.push(line);
  }
  return out;
}

function insert(out, tabs, figures) {
  const begins = (line) => line.startsWith(`${tabs}<testcase `) || line.startsWith(`${tabs}<testsuite `);
  const at = out.findLastIndex(begins);
  if (at < 0) return false;
  const properties = figures.split(' ').map((figure) => {
    const [name, value] = figure.split('=');
    return `${tabs}\t\t<property name="${name}" value="${value.replaceAll('_', ' ')}"/>`;
  });
  const block = [`${tabs}\t<properties>`, ...properties, `${tabs}\t</properties>`];
  if (out[at].endsWith('/>')) {
    out.splice(at, 1, out[at].slice(0, -2) + '>', ...block, `${tabs}</testcase>`);
  } else {
    out.splice(at + 1, 0, ...block);
  }
  return true;
}

export default async function* report(events) {
  let text = '';
  for await (const part of junit(events)) text += part;
  yield withProperties(text.split('\n')).join('\n');
}
