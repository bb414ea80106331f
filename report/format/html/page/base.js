// What the parts of the page share: the data, elements, figures, the theme.

const cg = { data: JSON.parse(document.getElementById('data').textContent) };

// All names of functions, files and tests: what the search goes through.
cg.texts = new Set(['(further calls)', '(unknown)']);

// rows makes objects of columns.
function rows(columns, n) {
  const names = Object.keys(columns);
  return Array.from({ length: n }, (_, i) => { const o = {}; for (const k of names) o[k] = columns[k][i]; return o; });
}

// apart takes the columns of a run's long lists apart. Energies are microjoules
// there and times nanoseconds.
function apart(run) {
  const text = (list) => (list || []).map((i) => run.texts[i]);
  const scaled = (list, by) => (list || []).map((v) => v === null ? null : v * by);
  const joules = (list) => scaled(list, 1e-6), seconds = (list) => scaled(list, 1e-9);
  const f = run.functions, s = run.sites, t = run.tasks;
  const program = run.totals.program_energy_j;
  run.functions = rows({
    name: text(f.name), file: text(f.file), language: text(f.language), energy_method: text(f.method), line: f.line, calls: f.calls,
    self_energy_j: joules(f.self_uj), self_energy_lo_j: joules(f.lo_uj), self_energy_hi_j: joules(f.hi_uj), inclusive_energy_j: joules(f.inclusive_uj),
    self_time_s: seconds(f.self_ns), inclusive_time_s: seconds(f.inclusive_ns),
  }, f.name.length);
  for (const [i, more] of Object.entries(f.more || {})) Object.assign(run.functions[i], more);
  for (const g of run.functions) {
    g.avg_power_w = g.self_energy_j === null || g.self_time_s <= 0 ? null : g.self_energy_j / g.self_time_s;
    g.inner = g.inner && g.inner.map((k) => ({ name: k.name, samples: k.samples, energy: scaled([k.self_uj, k.lo_uj, k.hi_uj], 1e-6) }));
    g.share_percent = g.self_energy_j === null || !(program > 0) ? null : 100 * g.self_energy_j / program;
  }
  run.sites = rows({ id: s.id, name: text(s.name), file: text(s.file), line: s.line, end_line: s.end_line }, s.id.length);
  run.tasks = rows({
    name: text(t.name), depth: t.depth, started_at_mono_ns: t.begin_ns, ended_at_mono_ns: t.end_ns, duration_s: seconds(t.time_ns),
    energy_j: joules(t.energy_uj), energy_lo_j: joules(t.lo_uj), energy_hi_j: joules(t.hi_uj),
  }, t.name.length);
  for (const g of run.tasks) g.avg_power_w = g.energy_j === null || g.duration_s <= 0 ? null : g.energy_j / g.duration_s;
  for (const [i, units] of Object.entries(t.units || {})) run.tasks[i].units = units;
  for (const [i, gauges] of Object.entries(t.gauges || {})) run.tasks[i].gauges = gauges;
  for (const [i, gpus] of Object.entries(t.gpus || {})) run.tasks[i].gpus = gpus;
  for (const i of t.outlived || []) run.tasks[i].avg_power_w = null;
  // What call paths are of. The paths themselves are read later, see block.js.
  const p = run.paths;
  run.kinds = rows({ name: text(p.name), file: text(p.file), line: p.line }, p.name.length);
  run.tree = run.folded = () => null;
  for (const list of [run.texts, run.timeline?.sites || [], (run.gpus?.kernels || []).map((k) => k.name)]) for (const w of list) cg.texts.add(w);
  delete run.texts;
}
cg.data.runs.forEach(apart);

// Each run but the first is held against the first.
cg.data.comparisons ||= [];
cg.data.comparisons.forEach((c, run) => {
  if (!c) return;
  for (const w of Object.values(c.was)) cg.texts.add(w);
  for (const p of c.places?.changes || []) cg.texts.add(p.where);
  const now = cg.data.runs[run].functions;
  c.functions = c.of.map((of, i) => ({
    language: now[of].language, name: now[of].name, was: c.was[of], why: c.why[of], base: c.base[i], head: c.head[i], lo: c.lo[i], hi: c.hi[i],
    verdict: c.verdicts[c.verdict[i]], weak: c.weak,
  }));
});

// greatest of a list of any length: Math.max takes so many arguments and no more.
function greatest(list, least) { return list.reduce((a, b) => Math.max(a, b), least); }

// el makes an element. Text goes in as text: names of functions and files are
// never markup.
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'css') Object.assign(e.style, value);
    else e.setAttribute(name, value === true ? '' : value);
  }
  for (const c of children.flat(3)) {
    if (c !== undefined && c !== null && c !== false) e.append(c);
  }
  return e;
}

// parted gives a name with the places where a narrow column may break it: behind the signs between its words.
function parted(name) { return name.split(/(?<=[./:])(?=[^./:])/).flatMap((word, i) => i ? [el('wbr', {}), word] : [word]); }

// section is a part of the page with a heading and, at its right, tools.
function section(id, title, tools, ...children) {
  return el('section', { id, 'aria-labelledby': id + '-title' },
    el('div', { class: 'title' }, el('h2', { id: id + '-title' }, title), tools ? el('div', { class: 'tools' }, tools) : null),
    ...children);
}

// choice is a row of buttons of which one is pressed.
function choice(label, options, value, pick) {
  const group = el('div', { class: 'choice', role: 'group', 'aria-label': label });
  const press = (v) => { for (const b of group.children) b.setAttribute('aria-pressed', String(b.dataset.value === v)); };
  for (const [v, text, title] of options) {
    group.append(el('button', { type: 'button', 'data-value': v, title, onclick: () => { press(v); pick(v); } }, text));
  }
  press(value);
  group.press = press;
  return group;
}

function digits(v) {
  if (!(v > 0)) return '0';
  const most = Number(v.toPrecision(3)); // 99.96 is 100, and not 100.0
  return v.toFixed(Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(most) + 1e-9))));
}

// A figure is [number, unit], with three digits that count.
const figure = {
  energy(j) {
    if (j === null || j === undefined) return ['?', ''];
    const v = Math.abs(j), sign = j < 0 ? '−' : '';
    if (v === 0) return ['0', 'J'];
    if (v < 9.995e-4) return [sign + (v * 1e6).toFixed(v < 9.995e-6 ? 1 : 0), 'µJ'];
    if (v < 0.9995) return [sign + digits(v * 1e3), 'mJ'];
    if (v < 1e4) return [sign + digits(v), 'J'];
    return [sign + digits(v / 1e3), 'kJ'];
  },
  time(s) {
    if (s === null || s === undefined) return ['?', ''];
    if (s < 0) { const [n, u] = figure.time(-s); return ['−' + n, u]; }
    if (s === 0) return ['0', 's'];
    if (s < 9.995e-7) return [(s * 1e9).toFixed(0), 'ns'];
    if (s < 9.995e-4) return [digits(s * 1e6), 'µs'];
    if (s < 0.9995) return [digits(s * 1e3), 'ms'];
    if (s < 600) return [digits(s), 's'];
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return [(h ? h + ' h ' : '') + m + ' min ' + Math.floor(s % 60), 's'];
  },
  power(w) { return w === null || w === undefined ? ['?', ''] : [digits(w), 'W']; },
  count(n) { return [String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f'), '']; },
  percent(p) { return p === null || p === undefined ? ['?', ''] : [p.toFixed(1), '%']; },
};

// several counts things: 1 call, 2 calls.
function several(n, one) { return figure.count(n)[0] + '\u00a0' + one + (n === 1 ? '' : 's'); }

function text(pair) { return pair[1] ? pair[0] + '\u00a0' + pair[1] : pair[0]; }

// number shows a figure so that columns of them stay aligned.
function number(pair, mark) {
  return el('span', { class: 'n' }, (pair[0] === '0' ? '' : mark || '') + pair[0], el('i', {}, pair[1]));
}

// mark stands before every energy that was not measured.
function mark(run) { return run.totals.energy_kind === 'estimated' ? '~' : ''; }

const kinds = {
  measured: ['measured', 'read from energy counters of the machine'],
  derived: ['derived', 'computed from measured values'],
  estimated: ['estimated, not measured', 'computed from processor time and a model of the machine'],
  unavailable: ['not known', 'no energy could be read'],
};

function badge(kind) {
  const [words, title] = kinds[kind] || [kind, ''];
  return el('span', { class: 'badge ' + kind, title }, words);
}

// interval draws lo to hi on a track from 0 to most, with a tick at value.
function interval(lo, value, hi, most) {
  const at = (v) => Math.max(0, Math.min(100, most > 0 ? 100 * v / most : 0));
  const track = el('span', { class: 'interval', 'aria-hidden': 'true' });
  if (value === null || value === undefined) return track;
  track.append(
    el('span', { class: 'fill', css: { width: at(value) + '%' } }),
    el('span', { class: 'band', css: { left: at(lo) + '%', width: Math.max(0.5, at(hi) - at(lo)) + '%' } }),
    el('span', { class: 'tick', css: { left: at(value) + '%' } }));
  return track;
}

function range(lo, hi, word = 'to') {
  if (lo === null || lo === undefined || lo === hi) return '';
  const [a, ua] = figure.energy(lo), [b, ub] = figure.energy(hi);
  if (a === b && ua === ub) return '';
  return ua === ub || a === '0' ? `${a} ${word} ${b}\u00a0${ub}` : `${a}\u00a0${ua} ${word} ${b}\u00a0${ub}`;
}

function hash(s) {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

// hue gives a name one of a few colours.
function hue(s) { return [24, 46, 88, 150, 178, 202, 226, 262, 318, 348][hash(s) % 10]; }

function base(file) { return file.replace(/^.*[/\\]/, ''); }

// The theme is the system's until somebody chooses.
const theme = {
  listeners: [],
  media: matchMedia('(prefers-color-scheme: dark)'),
  dark() {
    const t = document.documentElement.dataset.theme;
    return t ? t === 'dark' : theme.media.matches;
  },
  set(t) {
    if (t === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = t;
    theme.changed();
  },
  changed() {
    theme.colors.clear();
    for (const f of theme.listeners) f();
  },
  colors: new Map(), // asking for a computed style can cost a layout
  color(name) {
    if (!theme.colors.has(name)) theme.colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return theme.colors.get(name);
  },
};
theme.media.addEventListener('change', theme.changed);

// Paper is light.
addEventListener('beforeprint', () => { theme.screen = document.documentElement.dataset.theme || 'auto'; theme.set('light'); });
addEventListener('afterprint', () => { theme.set(theme.screen); });

// shown reports whether an element is seen: what is not seen is not drawn.
function shown(e) { return e.getClientRects().length > 0; }

// wide calls f with the width of an element whenever it changes.
function wide(e, f) {
  let last = 0;
  const see = () => {
    const w = Math.floor(e.clientWidth);
    if (w > 0 && w !== last) { last = w; f(w); }
  };
  new ResizeObserver(see).observe(e);
  see();
}
