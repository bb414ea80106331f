// The first view: one sentence, the dearest functions, and small pictures of the others.

const firstFunctions = 10;

// sentence says what a run is about in one line, '' where there is nothing to say.
function sentence(run) {
  const parts = [], known = run.totals.program_energy_j !== null;
  const cost = (f) => known ? f.self_energy_j : f.self_time_s;
  const top = run.functions.reduce((a, b) => !a || cost(b) > cost(a) ? b : a, null);
  const whole = known ? run.totals.program_energy_j : run.functions.reduce((sum, f) => sum + f.self_time_s, 0);
  if (top && whole > 0 && cost(top) >= 0.01 * whole) {
    const together = known && top.unresolved_with ? ' and what is told only together with it' : '';
    parts.push(`${Math.round(100 * cost(top) / whole)} % of the ${known ? 'program\u2019s energy' : 'time in functions'} went to ${top.name} itself${together}`);
  }
  const idle = run.ledger.find((l) => l.name === 'idle');
  if (idle && idle.share_percent >= 1) parts.push(`${Math.round(idle.share_percent)} % of the machine\u2019s energy was idle`);
  return parts.length ? parts.join('; ') + '.' : '';
}

// dearest is a table of the first functions.
function dearest(run, go) {
  if (!run.functions.length) return null;
  const m = mark(run), known = run.totals.program_energy_j !== null, colors = painter(run);
  const words = known ? figure.energy : figure.time;
  let shows = null, all = [], most = 0;
  const v = (f) => shows.of(f), cost = (f) => known ? v(f).self_energy_j : v(f).self_time_s;
  // sort takes the figures of what is chosen, when that is another part.
  const sort = () => {
    const part = partOf(run)?.functions || null;
    if (shows && part === (shows.part?.functions || null)) return;
    shows = figuresOf(run);
    all = run.functions.filter(shows.has).sort((a, b) => cost(b) - cost(a));
    most = greatest(all.map((f) => (known ? v(f).self_energy_hi_j : v(f).self_time_s) || 0), 0);
  };
  const body = el('tbody', {});
  function draw() {
    if (!shown(body)) return;
    sort();
    const hits = cg.search.hits, list = hits ? all.filter(hits) : all;
    body.replaceChildren(...list.slice(0, firstFunctions).map((f) => el('tr', { class: same(f, cg.chosen) ? 'chosen' : null },
      el('th', { scope: 'row' }, el('div', { class: 'function' }, el('span', { class: 'named' }, colors.swatch(f.name, f.file), el('button', { type: 'button', class: 'name', title: 'Select it in all views', onclick: () => choose(f) }, parted(f.name)), apartBy(run, f) ? el('small', { class: 'where' }, apartBy(run, f)) : null))),
      el('td', {}, number(words(cost(f)), known ? m : '')),
      el('td', { class: 'wide' }, el('span', { title: known ? range(v(f).self_energy_lo_j, v(f).self_energy_hi_j) : '' }, known ? interval(v(f).self_energy_lo_j, cost(f), v(f).self_energy_hi_j, most) : interval(cost(f), cost(f), cost(f), most))),
      el('td', {}, known ? number(figure.percent(v(f).share_percent)) : null))));
  }
  cg.redraw.push(draw);
  const many = run.functions.length;
  const out = section('dearest', 'Functions by what they used themselves', many > firstFunctions ? el('button', { type: 'button', id: 'dearest-all', onclick: () => go.tab('functions') }, `All ${many}`) : null,
    el('div', { class: 'scroll' }, el('table', { class: 'sortable', id: 'dearest-table' }, body)));
  out.start = draw;
  return out;
}

// smallFlame shows the outer call paths; a click opens their view.
function smallFlame(run, go) {
  if (run.paths.size < 2) return null;
  const f = flame('small'), colors = painter(run), m = mark(run);
  f.box.setAttribute('aria-label', 'The outer call paths. Enter opens their view.');
  const out = section('small-flame', 'Call paths', el('button', { type: 'button', onclick: () => go.tab('flames') }, 'Open'), el('div', { class: 'bar' }, f.line), f.box);
  let loaded = null;
  const load = () => {
    const t = treesOf(run)[1];
    if (t === loaded || !shown(f.box)) return;
    loaded = t;
    const metric = t.columns.energy ? 'energy' : 'time', words = metricFigure[metric], sign = metric === 'energy' ? m : '';
    f.load(t, {
      metric, figure: words, mark: sign, rows: 6,
      color: (i) => i === 0 ? 'var(--root)' : t.file(i) ? colors.box(t.name(i), t.file(i)) : 'var(--other)',
      describe: (i) => [el('b', {}, t.name(i)), ' · ', sign + text(words(t.at(metric, i)))],
      pick: (i, kind) => { if (kind.file) choose(kind); go.tab('flames'); },
    });
  };
  out.start = () => whenRead(() => { f.start(); cg.redraw.push(load); load(); });
  return out;
}

// smallPower is the machine's power as a line; a click opens the timeline.
function smallPower(run, go) {
  const s = run.samples, topology = run.meta.domain_topology, m = mark(run);
  const tops = Object.keys(s.domains || {}).filter((id) => topology[id]?.top_level);
  if (!s.t_us || s.t_us.length < 3 || !tops.length) return null;
  const end = s.t_us[s.t_us.length - 1], n = 240, times = s.t_us;
  const total = times.map((_, i) => tops.reduce((sum, id) => sum + s.domains[id].uj[i], 0));
  const watts = [];
  for (let k = 0; k < n; k++) watts.push((between(times, total, (k + 1) * end / n) - between(times, total, k * end / n)) / (end / n));
  const top = ceiling(watts), h = 64;
  const points = watts.map((w, k) => `${k},${(h - h * Math.min(1, w / (top || 1))).toFixed(1)}`);
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'), line = document.createElementNS(ns, 'polygon');
  svg.setAttribute('viewBox', `0 0 ${n - 1} ${h}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `Power over time, up to ${m}${text(figure.power(top))}`);
  line.setAttribute('points', `0,${h} ${points.join(' ')} ${n - 1},${h}`);
  svg.append(line);
  return section('small-power', 'Power of the machine', el('button', { type: 'button', onclick: () => go.tab('power') }, 'Open'),
    el('div', { class: 'spark' }, svg), el('p', { class: 'hint' }, `0 to ${m}${text(figure.power(top))} over ${text(figure.time(end * 1e-6))}`));
}
