// node example.mjs: three ways to say what a task is.
import { Session, task } from './index.mjs';

const squares = task('squares')(function squares(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += (i * i) % 7;
  return sum;
});

const session = Session.start('example');
await session.task('all', async (all) => {
  squares(5e6); // inside all
  all.count(5e6, 'number');
  const [a, b] = ['left', 'right'].map((name) => session.task(name, async () => {
    await null; // both at the same time
    return squares(1e6);
  }));
  await Promise.all([a, b]);
});
const last = session.startTask('by hand');
session.run(last, squares, 3e6); // inside it
last.end();
console.log(`by hand: ${(await last.energy()).energyJ} J`);
await session.stop();
if (session.file) console.log('written to ' + session.file);
