// This file has no checkpoints of cg's.
// The energy that a test of node:test may use, and what runs of it tell (docs/budgets.md of cg).
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const fs = require('node:fs');
const spec = require('./spec.cjs');

const FORM = /^ *([0-9]+(?:\.[0-9]+)?) *([A-Za-z]+) *$/;

/** A budget in joules; RangeError for a text that is none. */
function parse(text) {
  const [, number, unit] = (typeof text === 'string' && FORM.exec(text)) || [];
  const of = spec.BUDGET_UNITS.indexOf(unit);
  const joules = of < 0 ? 0 : Number(number) * spec.BUDGET_UNIT_J[of];
  if (joules > 0 && joules < Infinity) return joules;
  const units = spec.BUDGET_UNITS;
  throw new RangeError(`codegreen: ${JSON.stringify(text)}: a budget is a number above 0 and ${units.slice(0, -1).join(', ')} or ${units.at(-1)}: "2 J", "500 mJ", "0.1 Wh"`);
}

/** What runs tell, each of which is [energy, lo, hi] in joules: those of their mean, and a verdict. */
function judge(runs, budget, limit) {
  const n = runs.length;
  const mean = (i) => runs.reduce((sum, run) => sum + run[i], 0) / n;
  const [energy, low, high] = [mean(0), mean(1), mean(2)];
  let [lo, hi] = [low, high];
  if (n === 2) [lo, hi] = [Math.min(runs[0][1], runs[1][1]), Math.max(runs[0][2], runs[1][2])];
  if (n >= spec.BUDGET_LEAST_RUNS) {
    const spread = Math.sqrt(runs.reduce((sum, run) => sum + (run[0] - energy) ** 2, 0) / (n - 1));
    const times = spec.BUDGET_STUDENT[Math.min(n - spec.BUDGET_LEAST_RUNS, spec.BUDGET_STUDENT.length - 1)];
    const slack = (times * spread) / Math.sqrt(n);
    [lo, hi] = [Math.max(0, low - slack), high + slack];
  }
  return { energy, lo, hi, verdict: verdict() };

  function verdict() {
    if (hi <= budget) return spec.BUDGET_WITHIN;
    if (n < Math.min(limit, spec.BUDGET_LEAST_RUNS)) return spec.BUDGET_REPEAT;
    if (lo > budget) return spec.BUDGET_EXCEEDED;
    if (n >= limit || (low <= budget && budget <= high)) return spec.BUDGET_OPEN; // more runs do not make the bounds of one narrower
    return spec.BUDGET_REPEAT;
  }
}

const open = new Set(); // tests with a budget that run now
const within = new AsyncLocalStorage(); // that whose function runs

/** Notes of a test, and of others that run now, what keeps their energy from being known. */
function noteOthers(test) {
  const around = new Set();
  for (let outer = test.outer; outer; outer = outer.outer) around.add(outer);
  for (const other of open) {
    const how = around.has(other) ? 'nested' : 'beside';
    other[how] = test[how] = true;
  }
}

/** Other processes of node --test that run test files now. */
function otherFiles() {
  if (!String(process.env.NODE_TEST_CONTEXT).startsWith('child')) return false;
  try { // proc_pid_task_tid_children(5)
    const tasks = `/proc/${process.ppid}/task`;
    const children = fs.readdirSync(tasks).flatMap((tid) => fs.readFileSync(`${tasks}/${tid}/children`, 'utf8').split(' '));
    return children.some((pid) => pid.trim() && Number(pid) !== process.pid);
  } catch {
    return false;
  }
}

const digits = (v) => String(Number(v.toPrecision(4)));
const rounded = (v) => String(Number(v.toFixed(6)));

/** A test with a budget, and its runs so far. */
class Test {
  constructor(text, joules, limit) {
    Object.assign(this, { text, joules, limit, runs: [], kind: '', verdict: spec.BUDGET_REPEAT, judged: undefined, beside: false,
      nested: false, outer: within.getStore() });
  }

  take(e) {
    this.kind = e.kind;
    const run = Number.isNaN(e.programJ) ? [e.energyJ, e.loJ, e.hiJ] : [e.programJ, e.programLoJ, e.programHiJ];
    if (this.beside || this.nested || run.some(Number.isNaN)) {
      this.verdict = spec.BUDGET_UNKNOWN;
      this.judged = undefined;
      return;
    }
    this.runs.push(run);
    this.judged = judge(this.runs, this.joules, this.limit);
    this.verdict = this.judged.verdict;
  }

  get words() {
    if (this.beside) return 'it ran beside other tests, whose energy would be in it';
    if (this.nested) return 'a budget lies inside the test of another one, and neither is judged: give one of them a budget';
    if (!this.judged) return `its energy is not known; the budget is ${this.text}`;
    const { energy, lo, hi } = this.judged;
    const times = this.runs.length === 1 ? '1 run' : `mean of ${this.runs.length} runs`;
    return `${digits(energy)} J [${digits(lo)}, ${digits(hi)}], ${this.kind}, ${times}; the budget is ${this.text}`;
  }

  /** NAME=VALUE of each figure, which the reporter codegreen/junit makes properties. */
  get figures() {
    const all = { energy_budget_j: rounded(this.joules), energy_verdict: this.verdict.replaceAll(' ', '_') };
    if (this.judged) {
      Object.assign(all, { energy_j: rounded(this.judged.energy), energy_lo_j: rounded(this.judged.lo), energy_hi_j: rounded(this.judged.hi),
        energy_kind: this.kind, energy_runs: this.runs.length });
    }
    return Object.entries(all).map(([name, value]) => `${name}=${value}`).join(' ');
  }
}

/** Runs f as a task until the verdict is told. */
async function runs(test, name, session, f) {
  while (test.verdict === spec.BUDGET_REPEAT) {
    if (otherFiles()) test.beside = true;
    const task = session.startTask(name);
    try {
      await session.run(task, f);
    } finally {
      task.endAll();
    }
    if (otherFiles()) test.beside = true;
    test.take(await task.energy());
  }
}

/** budget(text, [{ runs }], f), with what gives the session to measure with. */
function budgets(sessionFor) {
  return function budget(text, options, f) {
    if (typeof options === 'function') [options, f] = [undefined, options];
    const { runs: limit = spec.BUDGET_RUNS } = options || {};
    if (typeof f !== 'function') throw new TypeError("codegreen: budget: give it the test's function: budget('2 J', () => { ... })");
    if (f.length > 1) throw new TypeError('codegreen: budget: the function takes a callback: use one that returns a promise');
    if (!Number.isInteger(limit) || limit < 1 || limit > spec.BUDGET_RUNS_MOST) {
      throw new RangeError(`codegreen: budget: ${limit} runs: use 1 to ${spec.BUDGET_RUNS_MOST}`);
    }
    const joules = parse(text);
    return async function (t) {
      const test = new Test(text, joules, limit);
      noteOthers(test);
      open.add(test);
      const name = (t && (t.fullName || t.name)) || f.name || 'test';
      const [session, done] = sessionFor();
      try {
        await within.run(test, () => runs(test, name, session, () => Reflect.apply(f, this, [t])));
      } finally {
        open.delete(test);
        await done();
      }
      const tell = t && typeof t.diagnostic === 'function' ? (line) => t.diagnostic(line) : console.log;
      tell(`energy budget: ${test.verdict}: ${name}: ${test.words}`);
      tell(test.figures);
      if (test.verdict === spec.BUDGET_EXCEEDED) {
        throw new Error(`the energy budget is exceeded: ${test.words}`);
      }
    };
  };
}

module.exports = { budgets, parse, judge };
