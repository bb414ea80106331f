// Call paths as boxes: as wide as what a path used with all it called. Boxes
// are elements, so they print, scale and take the theme; those narrower than a
// pixel are left out, which bounds their number.

// treeOf reads the paths of a run. A tree has columns: name, file, line,
// parent, children, and a list of metrics, each with what a node used itself.
function treeOf(run) {
  const p = run.paths, n = p.parent.length;
  const sites = new Map(run.sites.map((s) => [s.id, s]));
  const t = { name: [], file: [], line: [], parent: p.parent, children: [], metrics: {} };
  for (let i = 0; i < n; i++) {
    const s = sites.get(p.site[i]);
    t.children.push([]);
    if (i > 0) t.children[p.parent[i]].push(i);
    t.name.push(i === 0 ? p.program : p.task[i] !== undefined ? p.task[i] : s ? s.name : p.site[i] === 0 ? '(further calls)' : '(unknown)');
    t.file.push(s ? s.file : '');
    t.line.push(s ? s.line : 0);
  }
  if (p.self_uj) t.metrics.energy = p.self_uj.map((v) => v * 1e-6);
  t.metrics.time = p.self_us.map((v) => v * 1e-6);
  t.metrics.cpu = p.cpu_us.map((v) => v * 1e-6);
  t.metrics.calls = p.calls;
  return t;
}

// inverted turns a tree over: below each function stand its callers, so that
// the boxes of the first row are what functions used themselves.
function inverted(t, metrics) {
  const out = { name: [t.name[0]], file: [''], line: [0], parent: [-1], children: [[]], metrics: {} };
  for (const m of metrics) out.metrics[m] = [0];
  // A function is a number, and a box is found by its callee and function.
  const numbers = new Map(), boxes = new Map();
  const kind = t.name.map((name, i) => {
    const key = name + '\0' + t.file[i];
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    return numbers.get(key);
  });
  for (let i = 0; i < t.name.length; i++) {
    if (!metrics.some((m) => t.metrics[m][i] > 0)) continue;
    let at = 0;
    for (let k = i, depth = 0; k >= 0 && depth < 48; k = t.parent[k], depth++) {
      const key = at * numbers.size + kind[k];
      let next = boxes.get(key);
      if (next === undefined) {
        next = out.name.length;
        boxes.set(key, next);
        out.name.push(t.name[k]); out.file.push(t.file[k]); out.line.push(t.line[k]); out.parent.push(at); out.children.push([]);
        out.children[at].push(next);
        for (const m of metrics) out.metrics[m].push(0);
      }
      at = next;
    }
    for (const m of metrics) out.metrics[m][at] += t.metrics[m][i];
  }
  return out;
}

function inclusive(t, self) {
  const sum = Float64Array.from(self);
  for (let i = sum.length - 1; i > 0; i--) sum[t.parent[i]] += sum[i];
  return sum;
}

const metricFigure = { energy: figure.energy, time: figure.time, cpu: figure.time, calls: figure.count };

// flame draws a tree. options: id, width (the metric of widths), color(node) as
// CSS, describe(node) as words for the line above the picture, up (callers at
// the bottom).
function flame(id) {
  const box = el('div', { class: 'flame', id: id + '-boxes', tabindex: '0', role: 'tree', 'aria-label': 'Call paths. Arrow keys move, Enter zooms, Escape shows all.' });
  const line = el('p', { class: 'readout', id: id + '-line', 'aria-live': 'polite' });
  const found = el('span', { class: 'found', id: id + '-found', 'aria-live': 'polite' });
  const search = el('input', { type: 'search', id: id + '-search', placeholder: 'Search functions', 'aria-label': 'Search functions', spellcheck: 'false', autocomplete: 'off' });
  const f = { box, line, found, search, tree: null, sum: null, zoom: 0, at: 0, exact: null };
  const row = 21;
  let width = 0, boxes = new Map(), matched = null;

  f.load = (tree, options) => {
    Object.assign(f, { tree, options, sum: inclusive(tree, options.width), zoom: 0, at: 0 });
    for (const c of tree.children) c.sort((a, b) => f.sum[b] - f.sum[a]);
    seek();
  };
  f.seek = (name) => { search.value = name; f.exact = name; seek(); };
  search.addEventListener('input', () => { f.exact = null; seek(); });
  search.addEventListener('keydown', (e) => { if (e.key === 'Escape') { search.value = ''; f.exact = null; seek(); } });

  function seek() {
    const words = search.value.trim().toLowerCase();
    matched = null;
    found.textContent = '';
    if (words) {
      matched = new Uint8Array(f.tree.name.length);
      const under = new Uint8Array(f.tree.name.length);
      let n = 0, whole = 0;
      for (let i = 0; i < matched.length; i++) {
        const hit = f.exact !== null ? f.tree.name[i] === f.exact : f.tree.name[i].toLowerCase().includes(words);
        const p = f.tree.parent[i];
        if (hit) { matched[i] = 1; n++; if (p < 0 || !under[p]) whole += f.sum[i]; }
        under[i] = hit || (p >= 0 && under[p]) ? 1 : 0;
      }
      const share = f.sum[0] > 0 ? ` (${(100 * whole / f.sum[0]).toFixed(1)} %)` : '';
      found.textContent = n ? `${several(n, 'path')}, ${f.options.mark}${text(f.options.figure(whole))}${share}` : 'nothing found';
    }
    draw();
  }

  function draw() {
    if (!f.tree || !width) return;
    const t = f.tree, o = f.options;
    boxes = new Map();
    const out = [];
    let deepest = 0;
    const put = (i, x, w, depth, faded) => {
      deepest = Math.max(deepest, depth);
      const e = el('div', {
        class: 'box' + (faded ? ' above' : '') + (matched ? (matched[i] ? ' hit' : ' miss') : ''), id: `${id}-${i}`, role: 'treeitem', 'aria-label': t.name[i],
        css: { left: x + 'px', width: Math.max(1, w - 1) + 'px', background: o.color(i), [o.up ? 'bottom' : 'top']: depth * row + 'px' },
      });
      if (w > 28) e.textContent = t.name[i];
      e.node = i;
      boxes.set(i, e);
      out.push(e);
    };
    const above = [];
    for (let i = t.parent[f.zoom]; i >= 0; i = t.parent[i]) above.unshift(i);
    above.forEach((i, depth) => put(i, 0, width, depth, true));
    const scale = f.sum[f.zoom] > 0 ? width / f.sum[f.zoom] : 0;
    const stack = [[f.zoom, 0, above.length]];
    while (stack.length) {
      const [i, x, depth] = stack.pop();
      put(i, x, i === f.zoom ? width : f.sum[i] * scale, depth, false);
      let at = x;
      const below = [];
      for (const c of t.children[i]) {
        const w = f.sum[c] * scale;
        if (w < 1) break; // sorted: the others are narrower
        below.push([c, at, depth + 1]);
        at += w;
      }
      stack.push(...below.reverse());
    }
    box.style.height = (deepest + 1) * row + 2 + 'px';
    box.replaceChildren(...out);
    box.dataset.zoom = t.name[f.zoom];
    box.dataset.boxes = out.length;
    point(boxes.has(f.at) ? f.at : f.zoom);
  }

  function point(i) {
    boxes.get(f.at)?.classList.remove('at');
    f.at = i;
    const e = boxes.get(i);
    e?.classList.add('at');
    box.setAttribute('aria-activedescendant', e ? e.id : '');
    line.replaceChildren(...f.options.describe(i, f));
  }
  function zoomTo(i) { f.zoom = i; f.at = i; draw(); }
  f.reset = () => { search.value = ''; f.exact = null; f.zoom = 0; f.at = 0; seek(); };
  f.draw = draw;

  // A box that is drawn below a resting mouse is not pointed at.
  let mouse = '';
  const moved = (e) => { const was = mouse; mouse = e.clientX + ',' + e.clientY; return mouse !== was; };
  box.addEventListener('mousemove', (e) => { if (moved(e) && e.target.node !== undefined && e.target.node !== f.at) point(e.target.node); });
  box.addEventListener('click', (e) => { moved(e); if (e.target.node !== undefined) { zoomTo(e.target.node); box.focus({ preventScroll: true }); } });
  box.addEventListener('dblclick', () => zoomTo(0));
  box.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const t = f.tree, seen = (i) => i !== undefined && boxes.has(i) ? i : null;
    const beside = (d) => { const p = t.parent[f.at]; if (p < 0) return null; const c = t.children[p]; return seen(c[c.indexOf(f.at) + d]); };
    const to = {
      ArrowDown: () => f.options.up ? seen(t.parent[f.at]) : seen(t.children[f.at][0]),
      ArrowUp: () => f.options.up ? seen(t.children[f.at][0]) : seen(t.parent[f.at]),
      ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => 0,
    }[e.key];
    if (to) {
      e.preventDefault();
      const i = to();
      if (i !== null) { point(i); boxes.get(i).scrollIntoView({ block: 'nearest', inline: 'nearest' }); }
    } else if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); zoomTo(f.at); } else if (e.key === 'Escape') { e.preventDefault(); zoomTo(0); }
  });
  f.start = () => wide(box, (w) => { width = w; draw(); });
  return f;
}

function place(t, i) { return t.file[i] ? ` ${base(t.file[i])}:${t.line[i]}` : ''; }

function flames(run) {
  if (run.paths.parent.length < 1) return null;
  const tree = treeOf(run), m = mark(run), f = flame('flame');
  const state = { metric: tree.metrics.energy ? 'energy' : 'time', view: 'icicle' };
  let turned = null;
  function load() {
    const callees = state.view === 'self';
    if (callees && !turned) turned = inverted(tree, Object.keys(tree.metrics));
    const t = callees ? turned : tree, words = metricFigure[state.metric], sign = state.metric === 'energy' ? m : '';
    const self = t.metrics[state.metric];
    f.load(t, {
      width: self, figure: words, mark: sign, up: state.view === 'flame',
      color: (i) => i === 0 ? 'var(--root)' : t.file[i] ? tint(t, i) : 'var(--other)',
      describe: (i) => {
        const sum = inclusiveOf(t, state.metric)[i], whole = inclusiveOf(t, state.metric)[0];
        const energy = t.metrics.energy && state.metric !== 'energy' ? [' · ', m, text(figure.energy(inclusiveOf(t, 'energy')[i]))] : [];
        return [el('b', {}, t.name[i]), el('small', {}, place(t, i)), ' · ', sign + text(words(sum)), whole > 0 ? ` (${(100 * sum / whole).toFixed(1)} %)` : '',
          callees ? (t.parent[i] === 0 ? ' itself' : ' when called so') : [', itself ', sign + text(words(self[i]))].join(''),
          ...energy, state.metric === 'time' ? '' : ' · ' + text(figure.time(inclusiveOf(t, 'time')[i])), !callees && i > 0 ? ' · ' + several(t.metrics.calls[i], 'call') : ''];
      },
    });
  }
  // Functions of one file have neighbouring colours; where there is but one
  // file, each has its own.
  const files = new Set(run.functions.map((k) => k.file));
  const tint = (t, i) => `hsl(${files.size > 1 ? hue(t.file[i]) + hash(t.name[i]) % 25 - 12 : [12, 28, 40, 52, 340, 356, 20, 34][hash(t.name[i]) % 8]} var(--fs) var(--fl))`;
  const sums = new Map();
  function inclusiveOf(t, metric) {
    const key = metric + (t === tree ? '' : '-turned');
    if (!sums.has(key)) sums.set(key, inclusive(t, t.metrics[metric]));
    return sums.get(key);
  }
  const metrics = [['energy', 'Energy', 'Boxes are as wide as energies'], ['time', 'Time', 'wall-clock time'], ['cpu', 'Processor', 'processor time'], ['calls', 'Calls', 'number of calls']].filter(([k]) => tree.metrics[k]);
  const tools = [
    choice('Direction', [['icicle', 'Icicle', 'Callers above'], ['flame', 'Flame', 'Callers below'], ['self', 'Self', 'What functions used themselves, their callers below them']], state.view, (v) => { state.view = v; load(); }),
    choice('Width', metrics, state.metric, (v) => { state.metric = v; load(); }),
    f.search, el('button', { type: 'button', id: 'flame-reset', onclick: () => f.reset() }, 'Reset'),
  ];
  const out = section('flames', 'Call paths', tools, el('div', { class: 'bar' }, f.line, f.found), el('div', { class: 'scroll' }, f.box),
    el('p', { class: 'hint' }, 'A box is as wide as what a call path used, with all that it called. A click zooms in, a double click or Escape shows all.'));
  out.start = () => { load(); f.start(); };
  out.seek = (name) => { f.seek(name); out.scrollIntoView({ block: 'start' }); };
  return out;
}
