// Files that the page makes of what it shows.

// csvOf is a table (RFC 4180). Energies are joules, times seconds.
function csvOf(list, columns) {
  // A program for tables would compute a cell that begins like a formula.
  const cell = (v) => v === null || v === undefined ? '' : typeof v === 'number' ? String(Number.isInteger(v) ? v : Number(v.toPrecision(12))) : /[",\r\n]/.test(v = /^[=+\-@\t\r]/.test(v) ? "'" + v : v) ? '"' + v.replace(/"/g, '""') + '"' : v;
  return [columns, ...list.map((f) => columns.map((c) => f[c]))].map((r) => r.map(cell).join(',')).join('\r\n') + '\r\n';
}

const files = {
  csv: (run) => csvOf(run.functions, ['name', 'file', 'line', 'language', 'calls', 'self_energy_j', 'self_energy_lo_j', 'self_energy_hi_j', 'inclusive_energy_j', 'self_time_s', 'inclusive_time_s']),
  // tasks has columns of cg report -f csv --table tasks, those of which the page has the figures. Instants are of CLOCK_MONOTONIC, in nanoseconds.
  tasks: (run) => csvOf(run.tasks.slice(1), ['name', 'depth', 'started_at_mono_ns', 'ended_at_mono_ns', 'duration_s', 'energy_j', 'energy_lo_j', 'energy_hi_j', 'avg_power_w']),
  // json is what the page shows of functions, tasks and totals.
  json(run) {
    const { meta, totals, ledger, functions, tasks, warnings } = run;
    return JSON.stringify({ meta, totals, ledger, functions, tasks, warnings }, null, 2) + '\n';
  },
  // What is made of all call paths is made beside the page.
  speedscope: (run) => aside(speedscopeOf, [treeFrom], pathsToExport(run)),
  pprof: (run) => aside(pprofOf, [treeFrom, message], pathsToExport(run)),
};

function pathsToExport(run) {
  const t = run.tree();
  return { parent: t.parents, kind: t.kindOf, kinds: run.kinds, columns: t.columns, program: run.paths.program };
}

// speedscopeOf gives the file format of speedscope (www.speedscope.app/file-format-schema.json),
// one profile of time, with weights in seconds. It has no unit for energy, so joules are
// a profile without one.
function speedscopeOf({ parent, kind, kinds, columns, program }) {
  const parts = [], frames = kinds.map((k) => ({ name: k.name, ...(k.file ? { file: k.file, line: k.line } : {}) }));
  const head = JSON.stringify({ $schema: 'https://www.speedscope.app/file-format-schema.json', name: program, exporter: 'cg', shared: { frames } });
  parts.push(head.slice(0, -1), ',"profiles":[');
  let profiles = 0;
  for (const [metric, unit, name] of [['energy', 'none', 'energy, joules'], ['time', 'seconds', 'time']]) {
    const column = columns[metric];
    if (!column) continue;
    const weights = [];
    let sum = 0, samples = [];
    parts.push(profiles++ ? ',' : '', '{"samples":[');
    for (let i = 0; i < parent.length; i++) {
      if (!(column[i] > 0)) continue;
      const stack = [];
      for (let k = i; k >= 0; k = parent[k]) stack.push(kind[k]);
      samples.push((weights.length ? ',[' : '[') + stack.reverse().join() + ']');
      weights.push(column[i]);
      sum += column[i];
      if (samples.length === 4096) { parts.push(samples.join('')); samples = []; }
    }
    parts.push(samples.join(''), '],"weights":', JSON.stringify(weights), ',', JSON.stringify({ type: 'sampled', name, unit, startValue: 0, endValue: sum }).slice(1));
  }
  return [new Blob([...parts, ']}'])];
}

// pprofOf gives a profile (github.com/google/pprof/proto/profile.proto) with calls,
// nanoseconds and microjoules of each path.
function pprofOf({ parent, kind, kinds, columns }) {
  const strings = [''], numbers = new Map([['', 0]]);
  const numberOf = (s) => { let n = numbers.get(s); if (n === undefined) { n = strings.length; numbers.set(s, n); strings.push(s); } return n; };
  const types = [['calls', 'count', 'calls', 1], ['time', 'nanoseconds', 'time', 1e9], ...(columns.energy ? [['energy', 'microjoules', 'energy', 1e6]] : [])];
  const out = message();
  for (const [name, unit] of types) out.bytes(1, message().number(1, numberOf(name)).number(2, numberOf(unit)).take());
  for (let i = 0; i < parent.length; i++) {
    const values = types.map(([, , metric, by]) => Math.round(columns[metric][i] * by));
    if (!values.some((v) => v > 0)) continue;
    const stack = [];
    for (let k = i; k >= 0; k = parent[k]) stack.push(kind[k] + 1);
    out.bytes(2, message().packed(1, stack).packed(2, values).take());
  }
  kinds.forEach((k, i) => {
    out.bytes(4, message().number(1, i + 1).bytes(4, message().number(1, i + 1).number(2, k.line).take()).take());
  });
  kinds.forEach((k, i) => {
    out.bytes(5, message().number(1, i + 1).number(2, numberOf(k.name)).number(3, numberOf(k.name)).number(4, numberOf(k.file)).take());
  });
  const encoder = new TextEncoder();
  const period = message().number(1, numberOf(types[types.length - 1][0])).number(2, numberOf(types[types.length - 1][1])).take();
  for (const s of strings) out.bytes(6, encoder.encode(s));
  out.bytes(11, period).number(12, 1).number(14, numbers.get(types[types.length - 1][0]));
  return [new Blob([out.take()])];
}

// message makes a message of protocol buffers (protobuf.dev/programming-guides/encoding).
function message() {
  let buffer = new Uint8Array(64), n = 0;
  const room = (more) => { if (n + more > buffer.length) { const b = new Uint8Array(2 * (n + more)); b.set(buffer.subarray(0, n)); buffer = b; } };
  const varint = (v) => { room(10); while (v >= 128) { buffer[n++] = v % 128 + 128; v = Math.floor(v / 128); } buffer[n++] = v; };
  const m = {
    number(field, v) { if (v) { varint(field * 8); varint(v); } return m; },
    bytes(field, b) { varint(field * 8 + 2); varint(b.length); room(b.length); buffer.set(b, n); n += b.length; return m; },
    packed(field, list) { const inner = message(); for (const v of list) inner.varint(v); return m.bytes(field, inner.take()); },
    varint(v) { varint(v); return m; },
    take: () => buffer.slice(0, n),
  };
  return m;
}

// download offers a file to the browser.
function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const a = el('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// downloads is the menu of files of a run.
function downloads(run) {
  const name = 'run-' + (run.meta.run_id || 'unknown').replace(/[^\w.-]/g, '_');
  const item = (label, ending, type, make) => el('li', {}, el('button', { type: 'button', 'data-file': ending, onclick: (e) => { whenRead(async () => download(name + '.' + ending, await make(run), type)); e.target.closest('details').open = false; } }, label));
  const paths = run.paths.size > 1;
  return el('details', { class: 'menu', id: 'download' }, el('summary', {}, 'Download'), el('ul', {},
    run.functions.length ? item('Functions, CSV', 'csv', 'text/csv', files.csv) : null,
    run.tasks.length > 1 ? item(`${testsTitle(run)}, CSV`, 'tasks.csv', 'text/csv', files.tasks) : null,
    item(`Functions and ${testsTitle(run).toLowerCase()}, JSON`, 'json', 'application/json', files.json),
    paths ? item('Call paths, speedscope', 'speedscope.json', 'application/json', files.speedscope) : null,
    paths ? item('Call paths, pprof', 'pb', 'application/octet-stream', files.pprof) : null));
}
