// The block of the page: the columns of the call paths, which can be a million. They are
// read beside the page, so that the first view does not wait for them.

// aside calls a function in a worker, with an argument, and gives what it gives: [value,
// what of it is handed over]. parts are the functions that it calls. Where the browser
// allows no worker, it is called here.
function aside(f, parts, argument) {
  const here = async () => (await f(argument))[0];
  let url, worker;
  const script = `${[f, ...parts].join('\n')}\nonmessage = async ({ data }) => { const [value, handed] = await ${f.name}(data); postMessage(value, handed); };`;
  try { worker = new Worker(url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }))); } catch { return here(); }
  return new Promise((done, failed) => {
    const end = () => { worker.terminate(); URL.revokeObjectURL(url); };
    worker.onmessage = ({ data }) => { end(); done(data); };
    worker.onerror = (e) => { e.preventDefault(); end(); here().then(done, failed); };
    worker.postMessage(argument);
  });
}

// unpacked gives the bytes of base64 of gzip.
async function unpacked(words) {
  const letters = atob(words.trim()), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

// pathsOf reads the paths of all runs: { words, runs: [{ size, energy, files }] }, where
// files says of each kind whether it has a file. A run has its tree and, where there is
// recursion, the tree without it.
async function pathsOf({ words, runs }) {
  const bytes = words ? await unpacked(words) : new Uint8Array(0), handed = [];
  let at = 0;
  const column = (to, by) => { // varints
    for (let i = 0; i < to.length; i++) {
      let v = bytes[at++];
      if (v >= 128) {
        v -= 128;
        for (let scale = 128; ; scale *= 128) {
          const b = bytes[at++];
          if (b < 128) { v += b * scale; break; }
          v += (b - 128) * scale;
        }
      }
      to[i] = by ? v * by : v;
    }
    return to;
  };
  const out = runs.map(({ size, energy, files }) => {
    const parent = column(new Int32Array(size)), kind = column(new Uint32Array(size));
    for (let i = 0; i < size; i++) parent[i] = i - parent[i];
    const columns = { calls: column(new Float64Array(size)), time: column(new Float64Array(size), 1e-6), cpu: column(new Float64Array(size), 1e-6) };
    if (energy) columns.energy = column(new Float64Array(size), 1e-6);
    const whole = treeFrom(parent, kind, Array.from(files, (file) => ({ file })), columns), without = folded(whole);
    const told = (t) => {
      t.sum(energy ? 'energy' : 'time');
      const known = { ...t.known(), turned: byKind(t) }, turned = known.turned;
      for (const a of [t.parents, t.kindOf, known.first, known.order, ...Object.values(t.columns), ...Object.values(known.sums), turned.found, turned.ends, turned.sorted, ...Object.values(turned.sums)]) handed.push(a.buffer);
      return { parent: t.parents, kind: t.kindOf, columns: t.columns, known };
    };
    return size ? { whole: told(whole), folded: without === whole ? null : told(without) } : null;
  });
  return [out, handed];
}

// read reads the block. Views that need call paths wait for it with whenRead.
cg.read = false;
cg.waiting = [];
function whenRead(f) { if (cg.read) f(); else cg.waiting.push(f); }
async function read() {
  const block = document.getElementById('block'), words = block?.textContent || '';
  block?.remove();
  const runs = cg.data.runs, asked = runs.map(({ paths, kinds }) => ({ size: paths.size, energy: paths.energy, files: Uint8Array.from(kinds, (k) => k.file ? 1 : 0) }));
  const found = await aside(pathsOf, [unpacked, treeFrom, folded, grouped, joined, byKind], { words, runs: asked });
  found.forEach((f, i) => {
    if (!f) return;
    const tree = (t) => treeFrom(t.parent, t.kind, runs[i].kinds, t.columns, t.known), whole = tree(f.whole), without = f.folded ? tree(f.folded) : whole;
    runs[i].tree = () => whole;
    runs[i].folded = () => without;
  });
  cg.read = true;
  for (const f of cg.waiting.splice(0)) f();
}
