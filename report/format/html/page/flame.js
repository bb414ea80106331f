// Call paths as boxes: as wide as what a path used with all it called. Boxes
// are elements, so they print, scale and take the theme; those narrower than a
// pixel are left out, which bounds their number. They are drawn row by row, and what takes
// longer than a frame goes on in the next one.

const metricFigure = { energy: figure.energy, time: figure.time, cpu: figure.time, calls: figure.count };

// shortened cuts a name where it is least missed: packages and classes first, and of
// the last part the beginning.
function shortened(name, room) {
  if (name.length <= room) return name;
  if (room < 4) return '';
  let rest = name;
  const sign = name.includes('::') ? /::/ : /[./:]/, wide = name.includes('::') ? 2 : 1;
  for (let at = rest.search(sign); at >= 0 && at < rest.length - wide; at = rest.search(sign)) {
    rest = rest.slice(at + wide);
    if (rest.length <= room) return rest;
  }
  return '…' + rest.slice(rest.length - room + 1);
}

// flame draws a tree. options: metric (of widths), figure and mark of its values,
// color(node) as CSS, describe(node) as words for the line above the picture, up (callers
// at the bottom), rows (how many are drawn at most), pick (what a click does instead of
// zooming).
function flame(id) {
  const box = el('div', { class: 'flame', id: id + '-boxes', tabindex: '0', role: 'tree', 'aria-label': 'Call paths. Arrow keys move, Enter zooms, Escape shows all.' });
  const line = el('p', { class: 'readout', id: id + '-line', 'aria-live': 'polite' });
  const f = { box, line, tree: null, zoom: 0, at: 0 };
  const row = 21, letter = 6.95, frame = 12; // pixels, pixels, milliseconds
  let width = 0, boxes = new Map(), turns = 0;

  f.load = (tree, options) => {
    Object.assign(f, { tree, options, zoom: 0, at: 0 });
    drawn = false;
    values = tree.sum ? tree.sum(options.metric) : tree.columns[options.metric];
    f.draw();
  };
  let values = [], drawn = false;
  const sum = (i) => values[i];
  const dearest = (i, least = 0) => Array.from(f.tree.below(i)).filter((c) => values[c] >= least).sort((a, b) => values[b] - values[a]);

  // marks say of a box whether it is chosen and what the search found.
  const marks = (i) => {
    const kind = f.tree.kinds[f.tree.kind(i)], hits = cg.search.hits;
    return (hits && i > 0 ? (hits(kind) ? ' hit' : ' miss') : '') + (cg.chosen && same(cg.chosen, kind) ? ' chosen' : '');
  };
  // mark marks the boxes anew: where they stand does not change.
  f.mark = () => {
    if (!drawn) { f.draw(); return; }
    if (!shown(box)) return;
    for (const [i, e] of boxes) {
      const name = 'box' + (e.classList.contains('above') ? ' above' : '') + marks(i) + (i === f.at ? ' at' : '');
      if (e.className !== name) e.className = name;
    }
  };

  f.draw = (atOnce) => {
    if (!f.tree || !width || !shown(box)) return;
    const t = f.tree, o = f.options, turn = ++turns;
    boxes = new Map();
    let deepest = 0, out = [];
    const put = (i, x, w, depth, faded) => {
      deepest = Math.max(deepest, depth);
      const kind = t.kinds[t.kind(i)];
      const e = el('div', {
        class: 'box' + (faded ? ' above' : '') + marks(i), id: `${id}-${i}`, role: 'treeitem', 'aria-label': kind.name,
        css: { left: 100 * x / width + '%', width: 100 * Math.max(1, w - 1) / width + '%', background: o.color(i), [o.up ? 'bottom' : 'top']: depth * row + 'px' },
      });
      if (w > 28) e.textContent = shortened(kind.name, Math.floor((w - 9) / letter));
      e.node = i;
      boxes.set(i, e);
      out.push(e);
    };
    const above = [];
    for (let i = t.parent(f.zoom); i >= 0; i = t.parent(i)) above.unshift(i);
    above.forEach((i, depth) => put(i, 0, width, depth, true));
    const scale = sum(f.zoom) > 0 ? width / sum(f.zoom) : 0, queue = [[f.zoom, 0, above.length]];
    let next = 0;
    drawn = true;
    box.replaceChildren();
    const go = () => {
      if (turn !== turns) return;
      const until = performance.now() + frame;
      for (; next < queue.length && (atOnce || performance.now() < until); next++) {
        const [i, x, depth] = queue[next];
        put(i, x, i === f.zoom ? width : sum(i) * scale, depth, false);
        if (o.rows && depth + 1 >= o.rows) continue;
        let at = x;
        for (const c of dearest(i, scale > 0 ? 1 / scale : Infinity)) {
          queue.push([c, at, depth + 1]);
          at += sum(c) * scale;
        }
      }
      box.style.height = (deepest + 1) * row + 2 + 'px';
      box.append(...out);
      out = [];
      box.dataset.boxes = boxes.size;
      if (next < queue.length) { setTimeout(go); return; }
      box.dataset.zoom = t.name(f.zoom);
      point(boxes.has(f.at) ? f.at : f.zoom);
    };
    go();
  };

  function point(i) {
    boxes.get(f.at)?.classList.remove('at');
    f.at = i;
    const e = boxes.get(i);
    e?.classList.add('at');
    box.setAttribute('aria-activedescendant', e ? e.id : '');
    line.replaceChildren(...f.options.describe(i, f));
  }
  function zoomTo(i) { f.zoom = i; f.at = i; drawn = false; f.draw(); }
  function pick(i) {
    const kind = f.tree.kinds[f.tree.kind(i)];
    if (f.options.pick) { f.options.pick(i, kind); return; }
    zoomTo(i);
    if (kind.file) choose(kind);
  }
  f.reset = () => zoomTo(0);

  // A box that is drawn below a resting mouse is not pointed at.
  let mouse = '';
  const moved = (e) => { const was = mouse; mouse = e.clientX + ',' + e.clientY; return mouse !== was; };
  box.addEventListener('mousemove', (e) => { if (moved(e) && e.target.node !== undefined) { if (e.target.node !== f.at) point(e.target.node); tip.show(e, f.options.describe(e.target.node, f)); } else if (e.target.node === undefined) tip.hide(); });
  box.addEventListener('mouseleave', tip.hide);
  box.addEventListener('click', (e) => { moved(e); if (e.target.node !== undefined) { pick(e.target.node); box.focus({ preventScroll: true }); } });
  box.addEventListener('dblclick', () => zoomTo(0));
  box.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const t = f.tree, seen = (i) => i !== undefined && boxes.has(i) ? i : null;
    const beside = (d) => { const p = t.parent(f.at); if (p < 0) return null; const c = dearest(p); return seen(c[c.indexOf(f.at) + d]); };
    const to = {
      ArrowDown: () => f.options.up ? seen(t.parent(f.at)) : seen(dearest(f.at)[0]),
      ArrowUp: () => f.options.up ? seen(dearest(f.at)[0]) : seen(t.parent(f.at)),
      ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => 0,
    }[e.key];
    if (to) {
      e.preventDefault();
      const i = to();
      if (i !== null) { point(i); boxes.get(i).scrollIntoView({ block: 'nearest', inline: 'nearest' }); }
    } else if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); pick(f.at); } else if (e.key === 'Escape' && f.zoom !== 0) { e.preventDefault(); zoomTo(0); }
  });
  // On paper names have the room that they have there.
  f.print = (paper) => { f.screen = width; width = paper; f.draw(true); };
  f.printed = () => { width = f.screen || box.clientWidth; drawn = false; f.draw(); };
  f.start = () => {
    wide(box, (w) => { width = w; drawn = false; f.draw(); });
    cg.redraw.push(f.mark);
    cg.prints.push(f);
  };
  return f;
}

function place(t, i) { return t.file(i) ? ` ${base(t.file(i))}:${t.line(i)}` : ''; }

// flames is the view of the call paths of a run.
function flames(run) {
  if (run.paths.size < 1) return null;
  const m = mark(run), f = flame('flame'), colors = painter(run);
  let [whole, joined] = treesOf(run);
  const recursive = run.folded() !== run.tree();
  const known = Boolean(run.tree().columns.energy);
  const state = view('flame', { metric: known ? 'energy' : 'time', shape: 'icicle', recursion: 'folded' });
  if (!Object.hasOwn(run.tree().columns, state.metric)) state.metric = known ? 'energy' : 'time';
  const turned = new WeakMap();
  function load() {
    const metric = whole.columns[state.metric] ? state.metric : 'time'; // processor time is not known of a part
    const upright = recursive && state.recursion === 'folded' ? joined : whole, callees = state.shape === 'self';
    if (callees && !turned.has(upright)) turned.set(upright, inverted(upright));
    const t = callees ? turned.get(upright) : upright, words = metricFigure[metric], sign = metric === 'energy' ? m : '';
    f.load(t, {
      metric, figure: words, mark: sign, up: state.shape === 'flame',
      color: (i) => i === 0 ? 'var(--root)' : t.file(i) ? colors.box(t.name(i), t.file(i)) : 'var(--other)',
      describe: (i) => {
        const sum = t.at(metric, i), all = t.at(metric, 0);
        const energy = t.columns.energy && metric !== 'energy' ? [' · ', m, text(figure.energy(t.at('energy', i)))] : [];
        return [el('b', {}, t.name(i)), el('small', {}, place(t, i)), ' · ', sign + text(words(sum)), all > 0 ? ` (${(100 * sum / all).toFixed(1)} %)` : '',
          callees ? (t.parent(i) === 0 ? ' itself' : ' when called so') : ', itself ' + sign + text(words(t.self(metric, i))),
          ...energy, metric === 'time' ? '' : ' · ' + text(figure.time(t.at('time', i))), !callees && i > 0 && !run.sampled ? ' · ' + several(t.self('calls', i), 'call') : ''];
      },
    });
  }
  const metrics = [['energy', 'Energy', 'Boxes are as wide as energies'], ['time', 'Time', 'wall-clock time'], ['cpu', 'Processor', 'processor time'], ['calls', 'Calls', 'number of calls']].filter(([k]) => run.tree().columns[k] && !(k === 'calls' && run.sampled));
  const set = (key) => (v) => { state[key] = v; remember(); load(); };
  const tools = [
    choice('Direction', [['icicle', 'Icicle', 'Callers above'], ['flame', 'Flame', 'Callers below'], ['self', 'Self', 'What functions used themselves, their callers below them']], state.shape, set('shape')),
    choice('Width', metrics, state.metric, set('metric')),
    recursive ? choice('Recursion', [['folded', 'Folded', 'A function that calls itself is one box'], ['whole', 'Each call', 'Each level of a recursion is a box']], state.recursion, set('recursion')) : null,
    el('button', { type: 'button', id: 'flame-reset', onclick: () => f.reset() }, 'Reset'),
  ];
  const out = section('flames', 'Call paths', tools, el('div', { class: 'bar' }, f.line), el('div', { class: 'scroll' }, f.box),
    el('p', { class: 'hint' }, 'A box is as wide as what a call path used, with all that it called. A click zooms in and selects the function, a double click or Escape shows all.'));
  const another = () => {
    const trees = treesOf(run);
    if (trees[0] === whole || !shown(f.box)) return;
    [whole, joined] = trees;
    load();
  };
  out.start = () => { f.start(); cg.redraw.push(another); load(); };
  return out;
}
