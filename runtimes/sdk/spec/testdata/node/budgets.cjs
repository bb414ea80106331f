// Holds the package for Node to budgets.json: node budgets.cjs PACKAGE CASES. It says how many cases there were.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');

const [, , sdk, cases] = process.argv;
const { parse, judge } = require(`${sdk}/budget.cjs`);

const near = (got, want, of) => assert(Math.abs(got - want) <= 1e-9 * Math.max(1, Math.abs(want)), `${JSON.stringify(of)}: ${got}`);

const all = JSON.parse(fs.readFileSync(`${cases}/budgets.json`, 'utf8'));
for (const of of all) {
  if ('text' in of && of.joules === null) {
    assert.throws(() => parse(of.text), /a budget is a number above 0 and mJ, J,/, JSON.stringify(of.text));
  } else if ('text' in of) {
    near(parse(of.text), of.joules, of);
  } else {
    const got = judge(of.runs, of.budget_j, of.limit);
    assert.strictEqual(got.verdict, of.want, of.name);
    [got.energy, got.lo, got.hi].forEach((v, i) => near(v, of.mean[i], of));
  }
}
for (const text of [undefined, 2, null]) assert.throws(() => parse(text), RangeError);
console.log(`budgets.json: ${all.length} cases`);
