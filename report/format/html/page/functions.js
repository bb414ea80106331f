// The table of functions: sorted by any column, and those that the search found.

// Rows that are shown first, those that a press of the button adds, and those that are made between two frames.
const firstRows = 100, moreRows = 500, chunkRows = 25;

// Making a collator for each comparison takes fifty times as long.
const inOrder = new Intl.Collator('en', { numeric: true }).compare;

// sortable makes a table of rows. A column has a key, a head, a value to sort by, and a
// cell; options: sort, words(row) for the search, of(row) the function that a row is of,
// within() what the values are of: an object, when it is another one they are another part's,
// whose has(row) says whether the row is in it; null for all rows.
function sortable(id, rows, columns, options) {
  const state = view(id, { key: options.sort, down: 'yes' });
  if (!columns.some((k) => k.key === state.key)) state.key = options.sort;
  let most = firstRows, sorted = null, drawnAs = [], turns = 0;
  const body = el('tbody', {}), heads = [];
  const more = el('button', { type: 'button', class: 'more', id: id + '-more', onclick: () => { most += moreRows; draw(); } });
  const counted = el('span', { class: 'found', id: id + '-found', 'aria-live': 'polite' });
  const head = el('tr', {}, columns.map((c) => {
    const th = el('th', { scope: 'col', class: c.class }, el('button', { type: 'button', 'data-key': c.key, title: c.title, onclick: () => {
      state.down = (state.key === c.key ? state.down !== 'yes' : !c.text) ? 'yes' : 'no';
      state.key = c.key;
      remember();
      draw();
    } }, c.head));
    heads.push([c, th]);
    return th;
  }));
  function draw() {
    const hits = cg.search.hits, down = state.down === 'yes', part = options.within?.() || null, as = [state.key, down, most, hits, cg.chosen?.name, cg.chosen?.file, cg.chosen?.line, cg.paper, part];
    // What is drawn already is not drawn again: a table costs the browser more than all else.
    if (as.every((v, i) => v === drawnAs[i]) || !shown(head)) return;
    drawnAs = as;
    const c = columns.find((k) => k.key === state.key);
    const value = (r) => { const v = c.value(r); return v === null || v === undefined ? -Infinity : v; };
    if (!sorted || sorted.key !== state.key || sorted.down !== down || sorted.part !== part) {
      const list = (part ? rows.filter((r) => part.has(r)) : rows.slice()).sort((a, b) => {
        const x = value(a), y = value(b);
        const d = c.text ? inOrder(String(x), String(y)) : x < y ? -1 : x > y ? 1 : 0;
        return down ? -d : d;
      });
      sorted = { key: state.key, down, part, list };
    }
    const list = hits ? sorted.list.filter((r) => options.words(r).some((w) => w && hits({ name: w }))) : sorted.list;
    for (const [k, th] of heads) th.setAttribute('aria-sort', k.key === state.key ? (down ? 'descending' : 'ascending') : 'none');
    const first = list.slice(0, most), turn = ++turns;
    const row = (r) => {
      const of = options.of?.(r), chosen = of && same(of, cg.chosen);
      return el('tr', { class: chosen ? 'chosen' : null, 'aria-selected': chosen ? 'true' : null }, columns.map((k) => el(k.key === 'name' ? 'th' : 'td', { class: k.class, scope: k.key === 'name' ? 'row' : null }, k.cell(r))));
    };
    const rest = (from, size) => {
      if (turn !== turns) return;
      body.append(...first.slice(from, from + size).map(row));
      if (from + size < first.length) setTimeout(rest, 0, from + size, chunkRows);
    };
    body.replaceChildren();
    rest(0, cg.paper ? first.length : chunkRows);
    more.hidden = first.length === list.length;
    more.textContent = list.length - first.length > moreRows ? `Show ${figure.count(moreRows)[0]} more of ${figure.count(list.length)[0]}` : `Show all ${figure.count(list.length)[0]}`;
    counted.textContent = hits || part ? `${list.length} of ${rows.length}` : '';
  }
  cg.redraw.push(draw);
  return {
    draw, counted, more,
    table: el('div', { class: 'scroll' }, el('table', { id: id + '-table', class: 'sortable' }, el('thead', {}, head), body)),
  };
}

// counted is what functions of a run are counted by: calls, or stack samples where no call is known.
const counted = (run) => run.sampled ? 'sample' : 'call';

// perCall tells what single calls of a function used, '' where it is not known.
function perCall(run, f) {
  const e = f.calls_energy;
  if (run.sampled) return '';
  if (!e) return f.inclusive_energy_j === null || !f.calls ? '' : `${text(figure.energy(f.inclusive_energy_j / f.calls))} a call on average`;
  return `${text(figure.energy(e.mean_j))} a call on average, between ${text(figure.energy(e.mean_lo_j))} and ${text(figure.energy(e.mean_hi_j))}; of ${figure.count(e.n)[0]} long calls the least ${text(figure.energy(e.min_j))}, half up to ${text(figure.energy(e.median_j))}, 95 of 100 up to ${text(figure.energy(e.p95_j))}, the most ${text(figure.energy(e.max_j))} (${e.method})`;
}

function functions(run, go) {
  const all = run.functions;
  if (!all.length) return null;
  const m = mark(run), colors = painter(run), known = run.totals.program_energy_j !== null;
  let mostOf = null; // the longest bar
  const most = () => mostOf ??= greatest(all.map((f) => v(f).self_energy_hi_j || 0), 0);
  const called = (f) => el('div', { class: 'function' },
    el('span', { class: 'named' }, colors.swatch(f.name, f.file), el('button', { type: 'button', class: 'name', title: 'Select it in all views', onclick: () => choose(f) }, parted(f.name))),
    f.file ? (go.source(f.file) ? el('button', { type: 'button', class: 'where', title: f.file, onclick: () => go.show(f.file, f.line) }, `${base(f.file)}:${f.line}`)
      : el('small', { class: 'where', title: f.file }, `${base(f.file)}:${f.line}`)) : null,
    known && f.unresolved ? el('small', { class: 'flag', title: 'not resolvable: ' + f.unresolved + (f.unresolved_with ? ' with ' + f.unresolved_with.join(', ') : '') }, f.unresolved_with ? 'in a group' : 'by time') : null,
    f.calls_cut ? el('small', { class: 'flag', title: `nobody saw the end of ${figure.count(f.calls_cut)[0]} calls: they end at the last known moment` }, 'cut') : null);
  let shows = figuresOf(run);
  const v = (f) => shows.of(f);
  const columns = [
    { key: 'name', head: 'Function', text: true, value: (f) => f.name, cell: called },
    { key: 'calls', class: known ? 'roomy' : null, head: run.sampled ? 'Samples' : 'Calls', value: (f) => v(f).calls, cell: (f) => number(figure.count(v(f).calls)) },
    known && { key: 'self', head: 'Self', title: 'without what it called', value: (f) => v(f).self_energy_j, cell: (f) => [number(figure.energy(v(f).self_energy_j), m), el('small', { class: 'phone' }, range(v(f).self_energy_lo_j, v(f).self_energy_hi_j))] },
    known && { key: 'interval', head: 'Interval of self', class: 'wide', title: 'what the true value lies between; sorted by the upper end', value: (f) => v(f).self_energy_hi_j, cell: (f) => el('span', { title: range(v(f).self_energy_lo_j, v(f).self_energy_hi_j) }, interval(v(f).self_energy_lo_j, v(f).self_energy_j, v(f).self_energy_hi_j, most())) },
    known && { key: 'share', class: 'extra', head: 'Share', title: 'of the energy of the program', value: (f) => v(f).share_percent, cell: (f) => number(figure.percent(v(f).share_percent)) },
    known && { key: 'inclusive', head: 'Inclusive', title: 'with what it called', value: (f) => v(f).inclusive_energy_j, cell: (f) => el('span', { title: perCall(run, f) }, number(figure.energy(v(f).inclusive_energy_j), m)) },
    known && { key: 'power', class: 'extra', head: 'Power', title: 'self energy by self time', value: (f) => v(f).avg_power_w, cell: (f) => number(figure.power(v(f).avg_power_w), v(f).avg_power_w === null ? '' : m) },
    { key: 'time', class: known ? 'roomy' : null, head: 'Self time', value: (f) => v(f).self_time_s, cell: (f) => number(figure.time(v(f).self_time_s)) },
    { key: 'total', class: 'extra', head: 'Time', title: 'with what it called', value: (f) => v(f).inclusive_time_s, cell: (f) => number(figure.time(v(f).inclusive_time_s)) },
  ].filter(Boolean);
  const within = () => {
    const part = partOf(run)?.functions || null;
    if (part !== (shows.part?.functions || null)) { shows = figuresOf(run); mostOf = null; }
    return part;
  };
  const t = sortable('functions', all, columns, { sort: known ? 'self' : 'time', words: (f) => [f.name, f.file], of: (f) => f, within });
  const out = section('functions', 'Functions', t.counted, t.table, t.more);
  out.start = t.draw;
  return out;
}

function tests(run) {
  const all = run.tasks.slice(1);
  if (!all.length) return null;
  const m = mark(run), known = run.totals.program_energy_j !== null;
  const most = greatest(all.map((t) => t.energy_hi_j || 0), 0);
  const part = (t) => partOf(run)?.tasks.get(t) || { part: 1, energy: t.energy_j, time: t.duration_s };
  const scaled = (t, joules) => joules === null ? null : joules * part(t).part;
  const columns = [
    { key: 'name', head: 'Task', text: true, value: (t) => t.name, cell: (t) => el('div', { class: 'function' }, el('span', { class: 'name' }, parted(t.name)), part(t).part < 1 ? el('small', {}, 'in part') : null) },
    known && { key: 'energy', head: 'Energy', value: (t) => part(t).energy, cell: (t) => number(figure.energy(part(t).energy), m) },
    known && { key: 'interval', head: 'Interval', class: 'wide', value: (t) => scaled(t, t.energy_hi_j), cell: (t) => el('span', { title: range(scaled(t, t.energy_lo_j), scaled(t, t.energy_hi_j)) }, interval(scaled(t, t.energy_lo_j), part(t).energy, scaled(t, t.energy_hi_j), most)) },
    known && { key: 'power', head: 'Power', value: (t) => t.avg_power_w, cell: (t) => number(figure.power(t.avg_power_w), t.avg_power_w === null ? '' : m) },
    { key: 'time', head: 'Time', value: (t) => part(t).time, cell: (t) => number(figure.time(part(t).time)) },
  ].filter(Boolean);
  const t = sortable('tests', all, columns, { sort: known ? 'energy' : 'time', words: (k) => [k.name], within: () => partOf(run)?.tasks || null });
  const out = section('tests', testsTitle(run), t.counted, t.table, t.more);
  out.start = t.draw;
  return out;
}

// unitsOfWork is what units take that tasks of a session counted: of the whole session, and of each task.
function unitsOfWork(run) {
  const all = [{ task: run.tasks[0]?.name, units: run.totals.units }, ...run.tasks.slice(1).map((t) => ({ task: t.name, units: t.units }))]
    .flatMap(({ task, units }) => (units || []).map((u) => ({ task, ...u })));
  if (!all.length) return null;
  const m = mark(run), divided = all.some((u) => u.program_energy_j !== null);
  const small = (v) => {
    if (v === null || v === undefined || v === 0 || v >= 1e-5) return figure.energy(v);
    const [scale, unit] = v >= 1e-6 ? [1e6, 'µJ'] : v >= 1e-9 ? [1e9, 'nJ'] : [1e12, 'pJ'];
    return [digits(v * scale), unit];
  };
  const amount = (n) => n === null ? ['?', ''] : n >= 1000 && n < 1e15 ? figure.count(Math.round(n)) : [Number.isInteger(n) ? String(n) : String(Number(n.toPrecision(3))), ''];
  const bounds = (lo, hi, of) => lo === null || hi === null ? '?' : text(of(lo)) + ' to ' + text(of(hi));
  const columns = [
    { key: 'task', head: 'Task', text: true, value: (u) => u.task, cell: (u) => el('div', { class: 'function' }, el('span', { class: 'name' }, u.task)) },
    { key: 'unit', head: 'Unit', text: true, value: (u) => u.name, cell: (u) => u.name },
    { key: 'count', head: 'Count', value: (u) => u.count, cell: (u) => number(amount(u.count)) },
    { key: 'energy', head: 'Energy', title: 'of the machine, for a unit', value: (u) => u.energy_j, cell: (u) => number(small(u.energy_j), u.energy_j === null ? '' : m) },
    { key: 'interval', head: 'Interval', class: 'wide', value: (u) => u.energy_hi_j, cell: (u) => bounds(u.energy_lo_j, u.energy_hi_j, small) },
    divided && { key: 'program', head: 'Program', title: 'its share, for a unit', value: (u) => u.program_energy_j, cell: (u) => number(small(u.program_energy_j), u.program_energy_j === null ? '' : m) },
    { key: 'perj', head: 'Units/J', value: (u) => u.count_per_j, cell: (u) => number(amount(u.count_per_j), u.count_per_j === null ? '' : m) },
  ].filter(Boolean);
  const t = sortable('units', all, columns, { sort: 'energy', words: (u) => [u.task, u.name] });
  const out = section('units', 'Units of work', t.counted, t.table, t.more);
  out.start = t.draw;
  return out;
}

// gauges is what gauges showed during tasks of a session.
function gauges(run) {
  const all = run.tasks.slice(1).flatMap((t) => Object.entries(t.gauges || {}).map(([gauge, g]) => ({ task: t.name, gauge, ...g })));
  if (!all.length) return null;
  const short = (v) => number([String(Math.round(v * 10) / 10), '']);
  const columns = [
    { key: 'task', head: 'Task', text: true, value: (g) => g.task, cell: (g) => el('div', { class: 'function' }, el('span', { class: 'name' }, parted(g.task))) },
    { key: 'gauge', head: 'Gauge', text: true, value: (g) => g.gauge, cell: (g) => g.gauge },
    { key: 'mean', head: 'Mean', value: (g) => g.mean, cell: (g) => short(g.mean) },
    { key: 'least', head: 'Least', class: 'extra', value: (g) => g.min, cell: (g) => short(g.min) },
    { key: 'most', head: 'Most', value: (g) => g.max, cell: (g) => short(g.max) },
    { key: 'readings', head: 'Readings', class: 'roomy', value: (g) => g.readings, cell: (g) => number(figure.count(g.readings)) },
  ];
  const t = sortable('gauges', all, columns, { sort: 'most', words: (g) => [g.task, g.gauge] });
  const out = section('gauges', 'Gauges', t.counted, t.table, t.more);
  out.start = t.draw;
  return out;
}

function testsTitle(run) { return run.task_word === 'task' ? 'Tasks' : 'Tests'; }
