// Holds the package for Node to requests.json: node requests.cjs PACKAGE CASES. It says how many cases there were.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');

const [, , sdk, cases] = process.argv;
const { line } = require(`${sdk}/requests.cjs`);

const all = JSON.parse(fs.readFileSync(`${cases}/requests.json`, 'utf8'));
for (const of of all) {
  const said = line(of.id, of.route, of.at_us, of.tid, of.cpu_ns);
  assert.match(said, /^[^\n]*\n$/, of.name);
  assert.deepStrictEqual(JSON.parse(said), of.want, of.name);
}
console.log(`requests.json: ${all.length} cases`);
