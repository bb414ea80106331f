// The table of functions: sorted by any column, filtered by name and file.

const firstRows = 100;

// sortable makes a table of rows. A column has a key, a head, a value to sort
// by, and a cell; options: id, name(row) and file(row) for the filter, sort.
function sortable(id, rows, columns, options) {
  const state = { key: options.sort, down: true, words: '', all: rows.length <= firstRows };
  const body = el('tbody', {}), heads = [];
  const more = el('button', { type: 'button', class: 'more', id: id + '-more', onclick: () => { state.all = true; draw(); } });
  const filter = el('input', { type: 'search', id: id + '-filter', placeholder: 'Filter by name or file', 'aria-label': 'Filter by name or file', spellcheck: 'false', autocomplete: 'off', oninput: () => { state.words = filter.value; soon(); } });
  const counted = el('span', { class: 'found', 'aria-live': 'polite' });
  const head = el('tr', {}, columns.map((c) => {
    const th = el('th', { scope: 'col', class: c.class }, el('button', { type: 'button', 'data-key': c.key, title: c.title, onclick: () => {
      state.down = state.key === c.key ? !state.down : !c.text;
      state.key = c.key;
      draw();
    } }, c.head));
    heads.push([c, th]);
    return th;
  }));
  // Of many rows the filter waits for a pause in the typing.
  let timer = 0;
  function soon() {
    clearTimeout(timer);
    if (rows.length <= 5000) draw(); else timer = setTimeout(draw, 150);
  }
  let said = null;
  const sayings = () => said || (said = new Map(rows.map((r) => [r, options.words(r).toLowerCase()])));
  function draw() {
    const words = state.words.trim().toLowerCase();
    const c = columns.find((k) => k.key === state.key);
    const value = (r) => { const v = c.value(r); return v === null || v === undefined ? -Infinity : v; };
    const shown = words ? rows.filter((r) => sayings().get(r).includes(words)) : rows.slice();
    shown.sort((a, b) => {
      const x = value(a), y = value(b);
      const d = c.text ? String(x).localeCompare(String(y), 'en', { numeric: true }) : x < y ? -1 : x > y ? 1 : 0;
      return state.down ? -d : d;
    });
    for (const [k, th] of heads) th.setAttribute('aria-sort', k.key === state.key ? (state.down ? 'descending' : 'ascending') : 'none');
    const part = state.all ? shown : shown.slice(0, firstRows);
    body.replaceChildren(...part.map((r) => el('tr', {}, columns.map((k) => el(k.key === 'name' ? 'th' : 'td', { class: k.class, scope: k.key === 'name' ? 'row' : null }, k.cell(r))))));
    more.hidden = part.length === shown.length;
    more.textContent = `Show all ${shown.length}`;
    counted.textContent = words ? `${shown.length} of ${rows.length}` : '';
  }
  draw();
  return {
    filter, counted,
    table: el('div', { class: 'scroll' }, el('table', { id: id + '-table', class: 'sortable' }, el('thead', {}, head), body)),
    more,
  };
}

function functions(run, go) {
  const all = run.functions;
  if (!all.length) return null;
  const m = mark(run), known = run.totals.program_energy_j !== null;
  const most = greatest(all.map((f) => f.self_energy_hi_j || 0), 0);
  const called = (f) => el('div', { class: 'function' },
    el('button', { type: 'button', class: 'name', title: 'Show it in the call paths', onclick: () => go.flame(f.name) }, f.name),
    f.file ? (go.source(f.file) ? el('button', { type: 'button', class: 'where', title: f.file, onclick: () => go.show(f.file, f.line) }, `${base(f.file)}:${f.line}`)
      : el('small', { class: 'where', title: f.file }, `${base(f.file)}:${f.line}`)) : null,
    known && f.unresolved ? el('small', { class: 'flag', title: 'not resolvable: ' + f.unresolved + (f.unresolved_with ? ' with ' + f.unresolved_with.join(', ') : '') }, f.unresolved_with ? 'in a group' : 'by time') : null,
    f.calls_cut ? el('small', { class: 'flag', title: `nobody saw the end of ${figure.count(f.calls_cut)} calls: they end at the last known moment` }, 'cut') : null);
  const each = (f) => {
    const e = f.calls_energy;
    if (!e) return '';
    const one = `${figure.energy(e.mean_j)} a call on average, between ${figure.energy(e.mean_lo_j)} and ${figure.energy(e.mean_hi_j)}`;
    return e.n ? `${one}; of ${figure.count(e.n)} long calls the least ${figure.energy(e.min_j)}, half up to ${figure.energy(e.median_j)}, 95 of 100 up to ${figure.energy(e.p95_j)}, the most ${figure.energy(e.max_j)} (${e.method})` : one;
  };
  const columns = [
    { key: 'name', head: 'Function', text: true, value: (f) => f.name, cell: called },
    { key: 'calls', head: 'Calls', value: (f) => f.calls, cell: (f) => number(figure.count(f.calls)) },
    known && { key: 'self', head: 'Self', title: 'without what it called', value: (f) => f.self_energy_j, cell: (f) => number(figure.energy(f.self_energy_j), m) },
    known && { key: 'interval', head: 'Interval of self', class: 'wide', title: 'what the true value lies between; sorted by the upper end', value: (f) => f.self_energy_hi_j, cell: (f) => el('span', { title: range(f.self_energy_lo_j, f.self_energy_hi_j) }, interval(f.self_energy_lo_j, f.self_energy_j, f.self_energy_hi_j, most)) },
    known && { key: 'share', class: 'extra', head: 'Share', title: 'of the energy of the program', value: (f) => f.share_percent, cell: (f) => number(figure.percent(f.share_percent)) },
    known && { key: 'inclusive', head: 'Inclusive', title: 'with what it called', value: (f) => f.inclusive_energy_j, cell: (f) => el('span', { title: each(f) }, number(figure.energy(f.inclusive_energy_j), m)) },
    known && { key: 'power', class: 'extra', head: 'Power', title: 'self energy by self time', value: (f) => f.avg_power_w, cell: (f) => number(figure.power(f.avg_power_w), f.avg_power_w === null ? '' : m) },
    { key: 'time', head: 'Self time', value: (f) => f.self_time_s, cell: (f) => number(figure.time(f.self_time_s)) },
    { key: 'total', class: 'extra', head: 'Time', title: 'with what it called', value: (f) => f.inclusive_time_s, cell: (f) => number(figure.time(f.inclusive_time_s)) },
  ].filter(Boolean);
  const t = sortable('functions', all, columns, { sort: known ? 'self' : 'time', words: (f) => f.name + '\0' + f.file });
  return section('functions', 'Functions', [t.counted, t.filter], t.table, t.more);
}

function tests(run) {
  const all = run.tasks.slice(1);
  if (!all.length) return null;
  const m = mark(run), known = run.totals.program_energy_j !== null;
  const most = greatest(all.map((t) => t.energy_hi_j || 0), 0);
  const columns = [
    { key: 'name', head: 'Task', text: true, value: (t) => t.name, cell: (t) => el('div', { class: 'function' }, el('span', { class: 'name' }, t.name)) },
    known && { key: 'energy', head: 'Energy', value: (t) => t.energy_j, cell: (t) => number(figure.energy(t.energy_j), m) },
    known && { key: 'interval', head: 'Interval', class: 'wide', value: (t) => t.energy_hi_j, cell: (t) => el('span', { title: range(t.energy_lo_j, t.energy_hi_j) }, interval(t.energy_lo_j, t.energy_j, t.energy_hi_j, most)) },
    known && { key: 'power', head: 'Power', value: (t) => t.avg_power_w, cell: (t) => number(figure.power(t.avg_power_w), t.avg_power_w === null ? '' : m) },
    { key: 'time', head: 'Time', value: (t) => t.duration_s, cell: (t) => number(figure.time(t.duration_s)) },
  ].filter(Boolean);
  const t = sortable('tests', all, columns, { sort: known ? 'energy' : 'time', words: (k) => k.name });
  return section('tests', run.meta.tool === 'codegreen.Session' ? 'Tasks' : 'Tests', [t.counted, t.filter], t.table, t.more);
}
