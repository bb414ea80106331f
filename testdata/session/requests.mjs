// Programs that tell cg of their requests: the first argument says which.
import { strictEqual } from 'node:assert';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread } from 'node:worker_threads';

const { annotateRequest, beginRequest, droppedAnnotations } = await import(process.env.CODEGREEN_PACKAGE);

/** Uses the processor so long, alone. */
function spin(ms) {
  const before = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(before);
    if (user + system >= ms * 1000) return;
  }
}

const [what, times] = process.argv.slice(2);
if (!isMainThread) {
  annotateRequest('in a worker', () => spin(10));
} else if (what === 'requests') { // without end, or so many
  for (let n = 0; times === undefined || n < Number(times); n++) {
    strictEqual(annotateRequest('GET /dear', () => (spin(60), n)), n);
    const cheap = annotateRequest('GET /cheap', async () => {
      spin(10);
      await undefined;
      spin(10);
      return n;
    });
    strictEqual(await cheap, n);
    const nothing = beginRequest('nothing');
    nothing.end();
    nothing.end();
    try {
      annotateRequest('thrown', () => { throw new RangeError('of the program'); });
    } catch (e) {
      strictEqual(e.message, 'of the program');
    }
    if (n === 1) new Worker(fileURLToPath(import.meta.url));
    await new Promise(setImmediate);
  }
} else if (what === 'flood') {
  for (let n = 0; n < 50_000; n++) annotateRequest('GET /flood', () => {});
  console.log('dropped:', droppedAnnotations());
}
