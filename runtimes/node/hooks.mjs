// The hooks that run in Node's thread for hooks (module.register), where there is no module.registerHooks.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { begin } = require('./checkpoints.cjs');
const { sendTo } = require('./rewriting.cjs');
const { loaded } = require('./loading.cjs');

let run, main, works;

export function initialize(data) {
  ({ run, main } = data);
  sendTo(data.port);
  works = 'cg$e' in globalThis || begin(run) === ''; // the program's own hooks run here, too
}

export async function load(url, context, nextLoad) {
  const result = await nextLoad(url, context);
  return works ? loaded(run, url, result, main) : result;
}
