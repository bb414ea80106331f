// The part of a run between two moments. When one is chosen in the timeline, every view shows
// what ran in it.

// partOf gives the part that is chosen, null for the whole run: when it is from and to, what
// the machine used, the tasks, and, where calls are told over time, functions and call paths.
function partOf(run) {
  const times = run.samples.t_us;
  if (!cg.range || !times || times.length < 2) return null;
  const end = times[times.length - 1] * 1e-6, [from, to] = cg.range;
  if (from >= end || (from <= 0 && to >= end)) return null;
  if (run.part?.from !== from || run.part.to !== to) run.part = { from, to, ...ranIn(run, from, Math.min(end, to)) };
  return run.part;
}

function ranIn(run, from, to) {
  const s = run.samples, topology = run.meta.domain_topology, known = run.totals.program_energy_j !== null;
  const tops = Object.keys(s.domains).filter((id) => topology[id]?.top_level);
  const energy = tops.reduce((sum, id) => sum + between(s.t_us, s.domains[id].uj, to * 1e6) - between(s.t_us, s.domains[id].uj, from * 1e6), 0) * 1e-6;
  // A task that is there in part has its part of the energy, by time.
  const tasks = new Map();
  for (const t of run.tasks.slice(1)) {
    const a = (t.started_at_mono_ns - s.start_ns) * 1e-9, b = (t.ended_at_mono_ns - s.start_ns) * 1e-9, inside = Math.min(b, to) - Math.max(a, from);
    if (inside <= 0) continue;
    const part = Math.min(1, inside / (b - a));
    tasks.set(t, { part, time: t.duration_s * part, energy: t.energy_j === null ? null : t.energy_j * part });
  }
  // Without a log of calls only the long ones are told, which is too little for the other views.
  const calls = callsIn(run, from, to, known), whole = run.timeline?.log ? calls : { functions: null, tree: null, folded: null };
  return { energy: tops.length ? energy : null, tasks, long: calls.functions, ...whole };
}

// callsIn gives what calls did between two moments: functions, with their own time and that
// with what they called, and the tree of their paths. Energies are times by the power of the
// function over the whole run. Both are null where nothing tells of calls over time.
function callsIn(run, from, to, known) {
  const line = run.timeline;
  if (!line) return { functions: null, tree: null, folded: null };
  const kinds = [{ name: run.paths.program, file: '', line: 0 }], of = [null];
  line.sites.forEach((name, i) => {
    kinds.push({ name, file: line.files[i], line: line.lines[i] });
    of.push(functionOf(run, name, line.files[i], line.lines[i]));
  });
  const parent = [-1], kind = [0], time = [0], calls = [0], below = new Map();
  const node = (up, k) => {
    const key = up * kinds.length + k;
    let i = below.get(key);
    if (i === undefined) {
      below.set(key, i = parent.length);
      parent.push(up); kind.push(k); time.push(0); calls.push(0);
    }
    return i;
  };
  for (const th of line.threads) {
    const open = []; // the nodes of the calls around
    for (let i = 0; i < th.from.length; i++) {
      const a = th.from[i] * 1e-6, b = a + th.long[i] * 1e-6, inside = Math.min(b, to) - Math.max(a, from), depth = th.depth[i];
      open.length = depth;
      if (!(inside > 0)) { open[depth] = 0; continue; }
      const up = depth > 0 ? open[depth - 1] : 0, at = node(up, th.site[i] + 1);
      time[at] += inside;
      if (up > 0) time[up] -= inside;
      if (a >= from) calls[at]++;
      open[depth] = at;
    }
  }
  const power = (k) => of[k]?.avg_power_w || 0, own = time.map((t) => Math.max(0, t));
  const columns = { calls: Float64Array.from(calls), time: Float64Array.from(own) };
  if (known) columns.energy = Float64Array.from(own, (t, i) => t * power(kind[i]));
  const tree = treeFrom(Int32Array.from(parent), Uint32Array.from(kind), kinds, columns);
  const functions = new Map();
  for (let i = 1; i < tree.size; i++) {
    const key = of[kind[i]] || kinds[kind[i]];
    const g = functions.get(key) || { time: 0, energy: 0, wholeTime: 0, wholeEnergy: 0, calls: 0 };
    functions.set(key, g);
    g.time += own[i];
    g.calls += calls[i];
    g.energy += known ? columns.energy[i] : 0;
    let outer = parent[i]; // a call within a call of the same function is part of the outer one
    while (outer > 0 && kind[outer] !== kind[i]) outer = parent[outer];
    if (outer <= 0) { g.wholeTime += tree.at('time', i); if (known) g.wholeEnergy += tree.at('energy', i); }
  }
  if (!known) for (const g of functions.values()) g.energy = g.wholeEnergy = null;
  return { functions, tree, folded: folded(tree) };
}

// figuresOf gives a function's figures as they are to be shown: of the part that is chosen,
// where calls are told over time, or of the whole run. An interval is narrowed as its value is.
function figuresOf(run) {
  const part = partOf(run), program = run.totals.program_energy_j;
  if (!part?.functions) return { part: null, of: (f) => f, has: () => true };
  const none = { self_energy_j: 0, self_energy_lo_j: 0, self_energy_hi_j: 0, inclusive_energy_j: 0, self_time_s: 0, inclusive_time_s: 0, share_percent: 0, avg_power_w: null, calls: 0 };
  const made = new Map();
  const of = (f) => {
    const g = part.functions.get(f);
    if (!g) return none;
    if (!made.has(f)) {
      const scale = f.self_energy_j > 0 ? g.energy / f.self_energy_j : 0, by = (v) => v === null ? null : v * scale;
      made.set(f, {
        self_energy_j: g.energy, self_energy_lo_j: by(f.self_energy_lo_j), self_energy_hi_j: by(f.self_energy_hi_j), inclusive_energy_j: g.wholeEnergy, calls: g.calls,
        self_time_s: g.time, inclusive_time_s: g.wholeTime, avg_power_w: f.avg_power_w, share_percent: g.energy === null || !(program > 0) ? null : 100 * g.energy / program,
      });
    }
    return made.get(f);
  };
  return { part, of, has: (f) => part.functions.has(f) };
}

// treesOf gives the call paths to be shown: [each call, recursion folded].
function treesOf(run) {
  const part = partOf(run);
  return part?.tree ? [part.tree, part.folded] : [run.tree(), run.folded()];
}

// partBar stands above all views while a part is chosen, and leads back to the whole run.
function partBar(run) {
  const bar = el('div', { id: 'part', role: 'status', hidden: true }), m = mark(run);
  const draw = () => {
    const part = partOf(run);
    bar.hidden = !part;
    if (!part) return;
    const at = (t) => t === 0 ? '0\u00a0s' : text(figure.time(t)), span = part.to - part.from;
    bar.replaceChildren(el('span', {}, el('b', {}, `${at(part.from)} to ${at(part.to)}`), part.energy === null ? '' : `: the machine used ${m}${text(figure.energy(part.energy))}, ${m}${text(figure.power(part.energy / span))}`,
      '. ', part.functions ? `Functions, call paths and ${run.task_word}s are of this part: time there by the power of the function over the whole run${run.timeline.note.startsWith('the longest') ? `, of ${run.timeline.note}; a shorter call counts for its caller` : ''}.` : testsTitle(run) + ' are of this part. Its functions are not known: no log of calls is kept (cg measure --events FILE keeps one).'),
    el('button', { type: 'button', id: 'part-end', title: 'r', onclick: wholeRun }, 'The whole run'));
  };
  cg.redraw.push(draw);
  return bar;
}

// wholeRun shows the whole run again.
function wholeRun() { cg.range = null; cg.timeline?.show(); changedSomething(); }

// rangeOf tells in the timeline what ran in the part that is shown.
function rangeOf(run) {
  const element = el('div', { id: 'range', hidden: true }), m = mark(run), known = run.totals.program_energy_j !== null;
  const table = (id, head, list) => list.length ? el('table', { class: 'sortable', id }, el('thead', {}, el('tr', {}, head.map((h) => el('th', { scope: 'col' }, h)))), el('tbody', {}, list)) : null;
  function draw() {
    const part = partOf(run);
    element.hidden = !part;
    if (!part) return;
    const testRows = [...part.tasks].slice(0, 50).map(([t, k]) => el('tr', {}, el('th', { scope: 'row' }, el('span', { class: 'name' }, parted(t.name))),
      el('td', {}, k.part === 1 ? '' : el('small', {}, 'in part')), el('td', {}, number(figure.energy(k.energy), m)), el('td', {}, number(figure.time(k.time)))));
    const ran = [...part.long || []].filter(([, k]) => k.time > 0).sort(([, a], [, b]) => b.time - a.time);
    const functionRows = ran.slice(0, 20).map(([f, k]) => el('tr', { class: same(f, cg.chosen) ? 'chosen' : null },
      el('th', { scope: 'row' }, el('button', { type: 'button', class: 'name', onclick: () => choose(f) }, parted(f.name)), apartBy(run, f) ? el('small', { class: 'where' }, apartBy(run, f)) : null),
      known ? el('td', {}, f.avg_power_w > 0 ? number(figure.energy(k.energy), m || '~') : '') : null, el('td', {}, number(figure.time(k.time)))));
    element.replaceChildren(el('h3', {}, `From ${text(figure.time(part.from))} to ${text(figure.time(part.to))}`),
      ...[table('range-functions', ['Function', ...(known ? ['Energy'] : []), 'Self time'], functionRows),
        functionRows.length ? el('p', { class: 'hint' }, 'Self time in this range, and that by the power of the function over the whole run.') : null,
        table('range-tests', [testsTitle(run), '', 'Energy', 'Time'], testRows),
        part.tasks.size > 50 ? el('p', { class: 'hint' }, `and ${part.tasks.size - 50} more`) : null].filter(Boolean));
  }
  return { element, draw };
}
