// Reports each test of Node's own runner, mocha, jest and vitest as a task. A test inside another is a task
// of its own; one that begins while an unrelated one runs in the same thread is not reported.
'use strict';

const { ask, openTasks } = require('./checkpoints.cjs');
const { jestRuntime, vitestEvaluator } = require('./runners.cjs');

const { apply } = Reflect;
const { cg$e: enter, cg$x: exit } = globalThis;

const open = []; // tests that run in this thread, the innermost last: { key, number }
let run;

/** A test begins. key stands for it; around is the key of the test that it is part of, if there is one. */
function begin(key, around, name, file, line) {
  const top = open[open.length - 1];
  if (top && (top.key !== around || open.some((o) => o.key === key))) return;
  const answer = ask(run, 'task', [name, file || '', String(line || 0)]);
  const number = answer && answer[0] === 'ok' ? Number(answer[1]) : 0;
  if (!number) return;
  enter(number);
  open.push({ key, number });
  openTasks(open.map((o) => o.number));
}

/** A test is over, and so are those inside it. */
function end(key) {
  const at = open.findIndex((o) => o.key === key);
  if (at < 0) return;
  for (const { number } of open.splice(at).reverse()) exit(number);
  openTasks(open.map((o) => o.number));
}

/** The names of the suites around a test and its own, as runners join them. */
function fullName(test, parentOf, nameOf) {
  const names = [];
  for (let t = test; t && nameOf(t); t = parentOf(t)) names.unshift(nameOf(t));
  return names.join(' > ');
}

/** What a call gives, with an action first or last that never fails the program. */
function quietly(action) {
  try {
    action();
  } catch {}
}

// Node's runner calls a test's function by AsyncResource.prototype.runInAsyncScope; the test is the resource.
// When its function is over, or has failed, it sets the test's endTime.

let watches = false;

function watchNodeTests() {
  if (watches) return;
  watches = true;
  const { prototype } = require('node:async_hooks').AsyncResource;
  const plain = prototype.runInAsyncScope;
  const { runInAsyncScope } = {
    runInAsyncScope(fn) {
      if (this.constructor.name === 'Test' && this.parent && fn === this.fn) quietly(() => beginNodeTest(this));
      return apply(plain, this, arguments);
    },
  };
  Object.defineProperty(runInAsyncScope, 'length', { value: plain.length });
  prototype.runInAsyncScope = runInAsyncScope;
}

function beginNodeTest(test) {
  const field = Object.getOwnPropertyDescriptor(test, 'endTime');
  if (!field || !field.writable) return;
  let { value } = field;
  Object.defineProperty(test, 'endTime', {
    get: () => value,
    set(time) {
      value = time;
      end(test);
    },
    enumerable: true,
    configurable: true,
  });
  const { file = process.argv[1], line } = test.loc || {};
  begin(test, test.parent, fullName(test, (t) => t.parent, (t) => t.parent && t.name), file, line);
}

// Mocha's Runner emits "test" before the hooks of a test, and "test end" behind its function: instead of that "retry"
// where the test is tried again, and nothing where a hook in front of it failed. What comes of other processes
// (--parallel) has no function.

const BETWEEN = ['test', 'retry', 'test end', 'suite end', 'end']; // events at which no test runs

function mocha(Runner) {
  const { emit } = Runner.prototype;
  const last = new WeakMap(); // the test of a Runner that was begun last
  Runner.prototype.emit = {
    emit(event, test) {
      if (BETWEEN.includes(event)) end(last.get(this));
      if (event === 'test' && test && typeof test.run === 'function') {
        last.set(this, test);
        quietly(() => begin(test, undefined, fullName(test, (t) => t.parent, (t) => t.title), test.file));
      }
      return apply(emit, this, arguments);
    },
  }.emit;
}

// Jest's runner tells the environment of a test file about each event (jest-circus, types.d.ts).

function jest(adapter) {
  return async function jestAdapter(globalConfig, config, environment, runtime, file) {
    quietly(() => {
      const { handleTestEvent } = environment;
      environment.handleTestEvent = async function (event) {
        const { name, test } = event;
        if (name === 'test_start') {
          const nameOf = (t) => t.name !== 'ROOT_DESCRIBE_BLOCK' && t.name;
          quietly(() => begin(test, undefined, fullName(test, (t) => t.parent, nameOf), file));
        } else if (name === 'test_done' || name === 'test_skip' || name === 'test_todo') end(test);
        if (handleTestEvent) await apply(handleTestEvent, this, arguments);
      };
    });
    return apply(adapter, this, arguments);
  };
}

// Vitest's own runner has methods that its library for runners calls around each try of a test.

function vitest(Runner) {
  const { onBeforeTryTask, onTaskFinished } = Runner.prototype;
  Object.assign(Runner.prototype, {
    onBeforeTryTask(test) {
      const nameOf = (t) => t !== test.file && t.name;
      quietly(() => begin(test, undefined, fullName(test, (t) => t.suite, nameOf), test.file.filepath,
        test.location && test.location.line));
      return onBeforeTryTask && apply(onBeforeTryTask, this, arguments);
    },
    onTaskFinished(test) {
      end(test);
      return onTaskFinished && apply(onTaskFinished, this, arguments);
    },
  });
}

/** What vitest has to be told: its runner, and what evaluates modules. */
function vitestClass(Class) {
  if (typeof Class.prototype.runInlinedModule === 'function') vitestEvaluator(Class, run);
  else vitest(Class);
}

/** Makes tests tasks from here on. */
function reportTests(of) {
  run = of;
  Object.defineProperty(globalThis, 'cg$t', { value: vitestClass });
  const options = [...process.execArgv, process.env.NODE_OPTIONS || ''];
  if (process.env.NODE_TEST_CONTEXT || options.some((o) => /(^|\s)--test\b/.test(o))) watchNodeTests();
}

/** Makes a CommonJS module that has run report its tests, where it is a runner of tests. */
function toReport(file, module) {
  const { exports } = module;
  if (/\/mocha\/lib\/mocha\.c?js$/.test(file) && exports && typeof exports.Runner === 'function') mocha(exports.Runner);
  if (/\/jest-runtime\/build\/index\.js$/.test(file) && exports && typeof exports.default === 'function')
    exports.default = jestRuntime(exports.default, run);
  if (!/\/jest-circus\/build\/(runner|legacy-code-todo-rewrite\/jestAdapter)\.js$/.test(file)) return;
  if (typeof exports === 'function') module.exports = jest(exports);
  else if (exports && typeof exports.default === 'function') exports.default = jest(exports.default);
}

/** The text of a module with what makes its tests tasks, where it has a runner of tests. */
function runnerText(text, file) {
  if (!file.includes('/vitest/dist/')) return text;
  const found = (text.includes('onBeforeTryTask(') && /^class (\w*TestRunner)\b/m.exec(text)) ||
    (text.includes('runInlinedModule(') && /^class (\w*ModuleEvaluator)\b/m.exec(text));
  return found ? text + '\n;globalThis.cg$t?.(' + found[1] + ')' : text;
}

module.exports = { reportTests, watchNodeTests, toReport, runnerText };
