// Takes over the loading of modules. CommonJS: Module.prototype._compile, which whatever transforms a
// source (ts-node, tsx, Babel) calls with the result. ES modules: the hooks of Node, in this thread where it
// can (module.registerHooks), else in the thread that it has for hooks (module.register), which is only
// started once there may be an ES module.
'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');
const { MessageChannel, isMainThread } = require('node:worker_threads');
const { receiveAt, rewritten, textOf } = require('./rewriting.cjs');
const { keepTexts, keepStacks } = require('./seen.cjs');
const { reportTests, watchNodeTests, toReport, runnerText } = require('./tests.cjs');

const { apply } = Reflect;

// What makes a text an ES module, or loads one. It may see one in a comment.
const MAY_NEED_HOOKS = /\bimport\s*[(.]|^[^\S\n]*(?:import|export)\b|^[^\s/*].*\bawait\b/m;

// What imports Node's runner of tests.
const MAY_TEST = /['"`]node:test['"`]/;

let registered = false;

function takeOver(run) {
  const compile = Module.prototype._compile;
  const { _compile } = {
    _compile(content, filename, format) {
      if (MAY_NEED_HOOKS.test(content)) registerHooks(run);
      // Of an ES module that is required, the load hook has made the text.
      if (typeof content === 'string' && typeof filename === 'string' && content !== textOf(filename)) {
        if (MAY_TEST.test(content)) watchNodeTests();
        arguments[0] = runnerText(rewritten(run, content, filename, this.id === '.'), filename);
        const result = apply(compile, this, arguments);
        toReport(filename, this);
        return result;
      }
      return apply(compile, this, arguments);
    },
  };
  Module.prototype._compile = _compile;
  keepTexts();
  keepStacks();
  reportTests(run);
  if (Module.registerHooks || startsWithModule()) registerHooks(run);
}

/** Whether the program is an ES module, or something that is loaded as one precedes it. A worker may be one. */
function startsWithModule() {
  if (!isMainThread) return true; // it does not know its file yet
  const options = [...process.execArgv, ...(process.env.NODE_OPTIONS || '').split(' ')];
  if (options.some((o) => /^--(import|loader|experimental-loader|input-type|experimental-default-type)\b/.test(o)))
    return true;
  const main = mainFile();
  if (!main) return false;
  switch (path.extname(main)) {
    case '.mjs': case '.mts':
      return true;
    case '': case '.js': case '.ts': case '.jsx': case '.tsx':
      return typeOfPackage(main) === 'module';
  }
  return false;
}

/**
 * The file that is run, as Node finds it from a name without an ending, a folder or a symbolic link; undefined
 * where none is run. Node finds it again, in its cache.
 */
function mainFile() {
  const name = process.argv[1];
  if (!name) return undefined;
  const file = path.resolve(name);
  try {
    return Module._findPath(file, null, true) || file;
  } catch {
    return file;
  }
}

/** The type that the nearest package.json gives a file. */
function typeOfPackage(file) {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    try {
      return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).type;
    } catch (e) {
      if (e.code !== 'ENOENT' && e.code !== 'ENOTDIR') return undefined;
    }
    if (folder === path.dirname(folder)) return undefined;
  }
}

function registerHooks(run) {
  if (registered) return;
  registered = true;
  const main = mainFile();
  if (Module.registerHooks) {
    Module.registerHooks({
      load(url, context, nextLoad) {
        return loaded(run, url, nextLoad(url, context), main);
      },
    });
  } else if (Module.register) {
    const { port1, port2 } = new MessageChannel();
    receiveAt(port1);
    watchNodeTests(); // this thread does not see what ES modules import
    Module.register(pathToFileURL(path.join(__dirname, 'hooks.mjs')), { data: { run, main, port: port2 }, transferList: [port2] });
  }
}

/** What a load hook gives on, with checkpoints where it is an ES module of the program. */
function loaded(run, url, result, main) {
  const { format, source } = result;
  if (source == null || typeof url !== 'string' || !url.startsWith('file:')) return result;
  if (format !== 'module' && format !== 'module-typescript') return result;
  const file = fileURLToPath(url);
  const text = typeof source === 'string' ? source : Buffer.from(source).toString();
  if (Module.registerHooks && MAY_TEST.test(text)) watchNodeTests();
  const changed = runnerText(rewritten(run, text, file, file === main), file);
  return changed === text ? result : { ...result, source: changed };
}

module.exports = { takeOver, loaded };
