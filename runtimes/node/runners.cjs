// Puts checkpoints into what jest and vitest run: both transform a file and run the result by node:vm.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { threadId } = require('node:worker_threads');
const { ask } = require('./checkpoints.cjs');
const { inlineOf } = require('./made.cjs');
const { rewrittenMade } = require('./rewriting.cjs');
const { textsOf } = require('./seen.cjs');

const { apply, construct } = Reflect;

const NAMES = ['cg$e', 'cg$x', 'cg$c', 'cg$s', 'cg$r'];

const COVERAGE = "not instrumented: V8's coverage is collected, which counts the checkpoints, too";

let maps = 0; // that were written

/** Makes the checkpoints known in another context. */
function defineIn(global, context) {
  for (const name of NAMES) Object.defineProperty(global, name, { value: globalThis[name] });
  vm.runInContext('(keep) => keep(Function.prototype)', context)(textsOf);
}

/**
 * Jest's runtime of a test file, with checkpoints in what its transformer gives. A file that a process has
 * transformed stays so for its other tests.
 */
function jestRuntime(Runtime, run) {
  return new Proxy(Runtime, {
    construct(target, args, newTarget) {
      try {
        const [, environment, , transformer, , coverage] = args;
        if (transformer && typeof transformer.transform === 'function' && environment && environment.global) {
          defineIn(environment.global, environment.getVmContext());
          const withV8 = Boolean(coverage && coverage.collectCoverage && coverage.coverageProvider === 'v8');
          args[3] = withCheckpoints(transformer, run, withV8);
        }
      } catch {}
      return construct(target, args, newTarget);
    },
  });
}

const transformed = new WeakMap(); // what a transformer gave -> the same with checkpoints

/** A transformer of jest's. Its own cache, also on disk, has no checkpoints. */
function withCheckpoints(transformer, run, withV8) {
  const changed = (file, options, result) => {
    try {
      return changedResult(run, file, options || {}, result, withV8);
    } catch {
      return result;
    }
  };
  const own = {
    transform: (file, options, ...rest) => changed(file, options, transformer.transform(file, options, ...rest)),
    transformAsync: async (file, options, ...rest) =>
      changed(file, options, await transformer.transformAsync(file, options, ...rest)),
  };
  return new Proxy(transformer, {
    get(target, key) {
      if (Object.hasOwn(own, key)) return own[key];
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function changedResult(run, file, options, result, withV8) {
  if (options.isInternalModule || !result || typeof result.code !== 'string') return result;
  if (withV8) {
    ask(run, 'skip', ['', file, COVERAGE]);
    return result;
  }
  if (transformed.has(result)) return transformed.get(result);
  let map = '';
  try {
    map = result.sourceMapPath ? fs.readFileSync(result.sourceMapPath, 'utf8') : '';
  } catch {}
  const made = rewrittenMade(run, result.code, file, map, !options.supportsStaticESM);
  let changed = result;
  if (made) {
    const sourceMapPath = path.join(path.dirname(run.off), `map-${process.pid}-${threadId}-${++maps}`);
    fs.writeFileSync(sourceMapPath, Buffer.from(made.map, 'base64'), { mode: 0o600 });
    changed = { ...result, code: made.text, sourceMapPath };
  }
  transformed.set(result, changed);
  return changed;
}

/** Vitest's evaluator of modules. Their maps are read in the text that a module keeps. */
function vitestEvaluator(Evaluator, run) {
  const plain = Evaluator.prototype.runInlinedModule;
  const known = new WeakSet(); // contexts
  const changes = new WeakSet(); // what a module keeps, which is evaluated once more after vi.resetModules
  Evaluator.prototype.runInlinedModule = {
    runInlinedModule(context, code, module) {
      try {
        const own = this.vm && this.vm.context;
        if (changes.has(module.meta)) return apply(plain, this, arguments);
        const changed = evaluated(run, code, module.file, own);
        if (changed !== code) {
          if (own && !known.has(own)) {
            known.add(own);
            defineIn(own, own);
          }
          module.meta = { ...module.meta, code: changed };
          changes.add(module.meta);
          module.map = undefined;
          arguments[1] = changed;
        }
      } catch {}
      return apply(plain, this, arguments);
    },
  }.runInlinedModule;
}

/** The text of a module of vitest's with checkpoints, or as it is. */
function evaluated(run, code, file, context) {
  if (typeof code !== 'string' || typeof file !== 'string') return code;
  const { coverage } = (globalThis.__vitest_worker__ && globalThis.__vitest_worker__.config) || {};
  const inline = inlineOf(code);
  if (!inline) return code;
  if (coverage && coverage.enabled && coverage.provider === 'v8') {
    if (!file.includes('/node_modules/')) ask(run, 'skip', ['', file, COVERAGE]);
    return code;
  }
  const made = rewrittenMade(run, code, file, inline.json, Boolean(context));
  if (!made) return code;
  const at = made.text.lastIndexOf(code.slice(inline.start, inline.start + inline.length));
  return made.text.slice(0, at) + made.map + made.text.slice(at + inline.length);
}

module.exports = { jestRuntime, vitestEvaluator };
