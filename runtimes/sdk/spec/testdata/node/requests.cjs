// Holds the package for Node to requests.json: node requests.cjs PACKAGE CASES. It says how many cases there were.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const [, , sdk, cases] = process.argv;
const { annotateRequest, line } = require(`${sdk}/requests.cjs`);

const all = JSON.parse(fs.readFileSync(`${cases}/requests.json`, 'utf8'));
for (const of of all) {
  const said = line(of.id, of.route, of.at_us, of.tid, of.cpu_ns);
  assert.match(said, /^[^\n]*\n$/, of.name);
  assert.deepStrictEqual(JSON.parse(said), of.want, of.name);
}
console.log(`requests.json: ${all.length} cases`);

// No name and no option keeps a function from its call, or is told to the program.
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'cg-requests-'));
const socket = path.join(dir, 'socket');
const thrower = { toString() { throw new Error('of the program'); } };
const names = [Object.create(null), thrower, { toString: () => ' a ' }, null, undefined, 7];
let said = '';
const server = net.createServer((client) => client.on('data', (data) => {
  if ((said += data).split('"end":').length <= names.length) return;
  const lines = said.trim().split('\n').map((text) => JSON.parse(text));
  assert.deepStrictEqual(lines.flatMap((l) => ('begin' in l ? [l.name] : [])), ['?', '?', 'a', 'null', 'undefined', '7']);
  client.destroy();
  server.close();
})).listen(socket, () => {
  try {
    for (const name of names) assert.strictEqual(annotateRequest(name, () => 7, { socket }), 7);
    for (const options of [null, 5, { socket: null }, { socket: thrower }, { get socket() { throw new Error('no'); } }]) {
      assert.strictEqual(annotateRequest('name', () => 7, options), 7);
    }
  } finally {
    process.once('exit', () => fs.rmSync(dir, { recursive: true }));
  }
});
