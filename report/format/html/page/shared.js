// What all views share: the function that is chosen, the search, the range of time,
// colours, and the address of what is seen.

Object.assign(cg, {
  chosen: null, // { name, file, line }
  search: { words: '', hits: null, note: '' }, // hits says of a function whether it was found
  range: null, // [from, to] in seconds of the run, null for all of it
  redraw: [], // what views do when one of these has changed
  paper: false, // whether the page is being printed: what is drawn is whole at once
  prints: [], // what is drawn for the width of a sheet: { print(width), printed() }
  views: Object.create(null), // what is set in views, by view: it goes into the address
});

// same reports whether both are one function: a property's getter and setter have one name in one file. An address may
// leave out the line.
function same(a, b) { return Boolean(a && b) && a.name === b.name && a.file === b.file && (a.line === b.line || !a.line || !b.line); }

// placed gives what a function is known by.
function placed(name, file, line) { return name + '\0' + file + '\0' + line; }

// functionOf gives the function of a run that stands there, null for none.
function functionOf(run, name, file, line) {
  run.placed ||= new Map(run.functions.map((f) => [placed(f.name, f.file, f.line), f]));
  return run.placed.get(placed(name, file, line)) || null;
}

// apartBy tells a function from others of its name and file: by its line, '' where there is no other.
function apartBy(run, kind) {
  run.names ||= run.functions.reduce((m, f) => m.set(f.name + '\0' + f.file, (m.get(f.name + '\0' + f.file) || 0) + 1), new Map());
  return run.names.get(kind.name + '\0' + kind.file) > 1 ? `:${kind.line}` : '';
}

function changedSomething() { for (const f of cg.redraw) f(); remember(); }

// choose selects a function in all views; null selects none.
function choose(kind) {
  cg.chosen = kind ? { name: kind.name, file: kind.file, line: kind.line } : null;
  changedSomething();
}

// view gives what is set in a view, as the address has it.
function view(name, settings) {
  const kept = cg.views[name] || {};
  for (const k of Object.keys(settings)) if (typeof kept[k] === typeof settings[k]) settings[k] = kept[k];
  cg.views[name] = settings;
  return settings;
}

// The address: what is seen stands in the fragment, so that a link shows it again.
const address = {
  read() {
    const a = new URLSearchParams(location.hash.slice(1));
    cg.tab = a.get('tab') || '';
    cg.run = a.has('run') ? Number(a.get('run')) : null;
    cg.chosen = cg.range = null;
    cg.views = Object.create(null);
    if (a.has('function')) cg.chosen = { name: a.get('function'), file: a.get('file') || '', line: Number(a.get('line')) || 0 };
    if (a.has('from')) {
      const range = [Number(a.get('from')), Number(a.get('to'))];
      if (range[0] >= 0 && range[1] > range[0]) cg.range = range;
    }
    for (const [key, value] of a) {
      const [name, what] = key.split('.');
      if (!what) continue;
      (cg.views[name] ||= Object.create(null))[what] = value;
    }
    return a.get('search') || '';
  },
  write() {
    const a = new URLSearchParams();
    if (cg.run !== null && cg.run !== undefined) a.set('run', cg.run);
    if (cg.tab) a.set('tab', cg.tab);
    if (cg.chosen) { a.set('function', cg.chosen.name); a.set('file', cg.chosen.file); if (cg.chosen.line) a.set('line', cg.chosen.line); }
    if (cg.search.words) a.set('search', cg.search.words);
    if (cg.range) { a.set('from', cg.range[0].toPrecision(6)); a.set('to', cg.range[1].toPrecision(6)); }
    for (const [name, settings] of Object.entries(cg.views)) for (const [k, v] of Object.entries(settings)) a.set(name + '.' + k, v);
    try { history.replaceState(null, '', '#' + a); } catch { /* a page that is shown inside another may not */ }
  },
};
let remembering = 0;
function remember() {
  if (!cg.ready) return;
  clearTimeout(remembering); // browsers refuse an address that changes too often
  remembering = setTimeout(address.write, 100);
}

// painter gives functions the colour of their package: the folder of the file. Where nine tenths of the energy
// went to one folder it is the file's, and where there is one file each function has its own.
function painter(run) {
  if (run.painter) return run.painter;
  const files = new Set(run.functions.map((f) => f.file).filter(Boolean));
  const folder = (file) => file.replace(/[/\\][^/\\]*$/, '');
  const cost = (f) => f.self_energy_j ?? f.self_time_s, byFolder = new Map();
  for (const f of run.functions) if (f.file) byFolder.set(folder(f.file), (byFolder.get(folder(f.file)) || 0) + cost(f));
  const whole = [...byFolder.values()].reduce((a, b) => a + b, 0), spread = byFolder.size > 1 && !(greatest([...byFolder.values()], 0) > 0.9 * whole && whole > 0);
  const group = spread ? (name, file) => folder(file) : files.size > 1 ? (name, file) => file : (name) => name;
  const order = new Map(); // by energy, so that the dearest have colours that differ
  for (const f of [...run.functions].sort((a, b) => cost(b) - cost(a))) {
    const g = group(f.name, f.file);
    if (!order.has(g)) order.set(g, order.size);
  }
  const hues = [24, 202, 150, 46, 262, 348, 88, 226, 318, 178];
  const hueOf = (name, file) => hues[(order.get(group(name, file)) ?? hash(group(name, file))) % hues.length];
  return run.painter = {
    box: (name, file) => `hsl(${hueOf(name, file)} var(--fs) calc(var(--fl) + ${hash(name) % 7 - 3}%))`,
    hue: hueOf,
    swatch: (name, file) => el('span', { class: 'swatch', css: { background: `hsl(${hueOf(name, file)} var(--fs) var(--sl))` } }),
  };
}
