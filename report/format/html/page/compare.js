// Several runs side by side: totals, ledgers, functions with what changed from
// the first to the last, and their call paths in one picture.

const verdicts = {
  higher: ['bad', 'no change is ruled out, and it is at least the threshold'], lower: ['good', 'no change is ruled out, and it is at least the threshold'],
  'within threshold': ['soft', 'no change is ruled out, and it is smaller than the threshold'], 'no change shown': ['soft', 'which is not to say that there is none'], 'not comparable': ['warn', ''],
};

// verdict shows what cg compare says of a change.
function verdict(c) {
  if (!c) return el('span', { class: 'soft' }, '');
  const [style, title] = verdicts[c.verdict];
  return el('span', { class: style, title: c.why || title }, c.verdict + (c.weak && c.verdict !== 'no change shown' && c.verdict !== 'not comparable' ? '?' : ''));
}

// noChange reports whether a verdict is that nothing, or too little, has changed.
function noChange(verdict) { return verdict === 'no change shown' || verdict === 'within threshold'; }

// ratio is a change for people: in per cent, or how often as much where it is large.
function ratio(v) {
  if (v === null || v === undefined) return '?';
  return v >= 1 ? digits(1 + v) + '×' : signed(100 * v);
}

// ratios is an interval, '' where it is not known or a point.
function ratios(c) {
  if (!c || (c.lo === null && c.hi === null)) return '';
  const lo = ratio(c.lo), hi = ratio(c.hi);
  return lo === hi ? '' : `${lo} to ${hi}`;
}

function changed(a, b) {
  if (a === null || b === null || a === undefined || b === undefined) return null;
  return a > 0 ? 100 * (b / a - 1) : null;
}

function signed(p) {
  if (p === null) return '';
  return (p > 0 ? '+' : p < 0 ? '−' : '±') + Math.abs(p).toFixed(Math.abs(p) >= 100 ? 0 : 1) + '\u00a0%';
}

function signedFigure(words, v) {
  const [n, u] = words(v);
  return [v > 0 ? '+' + n : n, u];
}

function besideTotals(runs, names) {
  const a = runs[0].totals, b = runs[runs.length - 1].totals;
  const whole = (of) => {
    const c = cg.data.comparison?.totals.find((t) => t.of === of);
    return c && { ...c, lo: c.change_lo, hi: c.change_hi };
  };
  const energy = (label, value, lo, hi) => el('tr', {}, el('th', { scope: 'row' }, label),
    runs.map((r) => el('td', {}, number(figure.energy(r.totals[value]), mark(r)), el('small', {}, range(r.totals[lo], r.totals[hi])))),
    el('td', { class: 'change' }, signed(changed(a[value], b[value])), el('small', {}, ratios(whole(value))), el('small', {}, verdict(whole(value)))));
  const plain = (label, cell, change) => el('tr', {}, el('th', { scope: 'row' }, label), runs.map((r) => el('td', {}, cell(r))), el('td', { class: 'change' }, change || ''));
  return el('div', { class: 'scroll' }, el('table', { class: 'beside', id: 'beside' },
    el('thead', {}, el('tr', {}, el('th', {}, ''), names.map((n) => el('th', { scope: 'col' }, n)), el('th', { scope: 'col' }, 'Change'))),
    el('tbody', {},
      energy('Program', 'program_energy_j', 'program_energy_lo_j', 'program_energy_hi_j'),
      energy('Machine', 'energy_j', 'energy_lo_j', 'energy_hi_j'),
      plain('Time', (r) => number(figure.time(r.totals.wall_duration_s)), signed(changed(a.wall_duration_s, b.wall_duration_s))),
      plain('Power of the machine', (r) => number(figure.power(r.totals.avg_power_w), r.totals.avg_power_w === null ? '' : mark(r)), signed(changed(a.avg_power_w, b.avg_power_w))),
      plain('Kind', (r) => badge(r.totals.energy_kind)),
      plain('Exit status', (r) => String(r.process.exit_status)))),
  runs.some((r) => r.ledger.length) ? el('div', { class: 'ledgers' }, runs.map((r, i) => el('div', {}, el('span', { class: 'label' }, names[i]), r.ledger.length ? ledgerBar(r) : el('span', { class: 'soft' }, 'no energy known')))) : null,
  runs.some((r) => r.ledger.length) ? el('div', { class: 'keys' }, Object.keys(ledgerClass).filter((k) => runs.some((r) => r.ledger.some((l) => l.name === k && l.energy_j > 0))).map((k) => el('span', {}, el('span', { class: 'key ' + ledgerClass[k] }), k))) : null);
}

function changes(runs, names) {
  const rows = new Map();
  runs.forEach((r, i) => {
    for (const f of r.functions) {
      const key = f.language + '\0' + f.name;
      if (!rows.has(key)) rows.set(key, { name: f.name, file: f.file, of: new Array(runs.length).fill(null) });
      const k = rows.get(key);
      if (!k.of[i]) k.of[i] = f; // a name that stands twice in a run is its dearest function
    }
  });
  const last = runs.length - 1;
  const known = runs.every((r) => r.totals.program_energy_j !== null);
  const cost = known ? 'self_energy_j' : 'self_time_s', words = known ? figure.energy : figure.time;
  // A function that was renamed is in one row, under the name that it has now.
  for (const c of cg.data.comparison?.functions || []) {
    const row = rows.get(c.language + '\0' + c.name), was = c.was === undefined ? row : rows.get(c.language + '\0' + c.was);
    if (!row || !was) continue;
    if (was !== row) {
      row.was = c.was;
      was.of.forEach((f, i) => { if (!row.of[i]) row.of[i] = f; });
      rows.delete(c.language + '\0' + c.was);
    }
    if (known) row.said = c;
  }
  const all = [...rows.values()];
  for (const k of all) {
    const a = k.of[0], b = k.of[last];
    k.from = k.said ? k.said.base : a ? a[cost] : null;
    k.to = k.said ? k.said.head : b ? b[cost] : null;
    k.delta = (k.to || 0) - (k.from || 0);
    k.percent = changed(k.from, k.to);
    k.verdict = !a && !b ? 'in between' : !a ? 'new' : !b ? 'gone' : k.said ? k.said.verdict : '';
  }
  const value = (k, i) => k.said && i === 0 ? k.from : k.said && i === last ? k.to : k.of[i] ? k.of[i][cost] : null;
  const columns = [
    { key: 'name', head: 'Function', text: true, value: (k) => k.name, cell: (k) => el('div', { class: 'function' }, el('span', { class: 'name' }, parted(k.name)), k.was ? el('small', { class: 'was' }, 'was ', k.was) : null, k.file ? el('small', { class: 'where', title: k.file }, base(k.file)) : null) },
    ...names.map((n, i) => ({ key: 'run' + i, head: n, value: (k) => value(k, i), cell: (k) => k.of[i] ? number(words(value(k, i)), known ? mark(runs[i]) : '') : el('span', { class: 'n soft' }, '–', el('i', {})) })),
    { key: 'delta', head: 'Change', value: (k) => Math.abs(k.delta), cell: (k) => el('span', { class: noChange(k.verdict) ? 'soft' : k.delta > 0 ? 'bad' : k.delta < 0 ? 'good' : '' }, number(signedFigure(words, k.delta))) },
    { key: 'percent', head: '%', value: (k) => k.percent, cell: (k) => el('span', { class: 'n' + (noChange(k.verdict) ? ' soft' : '') }, signed(k.percent)) },
    known && { key: 'interval', class: 'extra', head: 'Interval', title: 'of the change; sorted by the lower end', value: (k) => k.said ? k.said.lo : null, cell: (k) => el('small', {}, ratios(k.said)) },
    { key: 'verdict', head: 'Verdict', text: true, class: 'left', value: (k) => k.verdict, cell: (k) => k.said ? verdict(k.said) : el('span', { class: 'soft' }, k.verdict) },
  ].filter(Boolean);
  const t = sortable('changes', all, columns, { sort: 'delta', words: (k) => [k.name, k.was, k.file] });
  const c = cg.data.comparison;
  const out = section('changes', known ? 'Functions, energy of their own' : 'Functions, time of their own', t.counted, t.table, t.more,
    c ? el('p', { class: 'hint' }, `Verdicts are about the first and the last run; a change smaller than ${100 * c.threshold} % is within the threshold.`) : null,
    c ? c.notes.map((n) => el('p', { class: 'hint note' }, n[0].toUpperCase() + n.slice(1) + '.')) : null);
  out.start = t.draw;
  return out;
}

// merged joins the paths of two runs: the same names below the same names. Its columns
// are those of both, in A and B, and their sums. renamed gives functions of the first run
// the names that they have now.
function merged(a, b, renamed) {
  const all = kindsOf(), parent = [-1], kind = [all.number(a.name(0) === b.name(0) ? a.name(0) : `${a.name(0)} → ${b.name(0)}`, '', 0)], below = [new Map()];
  const common = ['energy', 'time', 'cpu', 'calls'].filter((m) => a.columns[m] && b.columns[m]);
  const columns = {};
  for (const m of common) for (const side of ['A', 'B', '']) columns[m + side] = [0];
  [[a, 'A'], [b, 'B']].forEach(([t, side]) => {
    const to = new Uint32Array(t.size);
    for (let i = 0; i < t.size; i++) {
      let at = 0;
      if (i > 0) {
        const p = to[t.parent(i)], name = side === 'A' && t.file(i) && renamed.has(t.name(i)) ? renamed.get(t.name(i)) : t.name(i);
        at = below[p].get(name);
        if (at === undefined) {
          at = parent.length;
          below[p].set(name, at);
          below.push(new Map());
          parent.push(p);
          kind.push(all.number(name, t.file(i), t.line(i)));
          for (const c of Object.values(columns)) c.push(0);
        }
      }
      to[i] = at;
      for (const m of common) { columns[m + side][at] += t.columns[m][i]; columns[m][at] += t.columns[m][i]; }
    }
  });
  return [treeFrom(parent, kind, all.kinds, columns), common];
}

function difference(runs, names) {
  const a = runs[0], b = runs[runs.length - 1], last = names.length - 1;
  if (!a.paths.size || !b.paths.size) return null;
  // A function that was renamed is one, under the name that it has now.
  const renamed = new Map((cg.data.comparison?.functions || []).filter((c) => c.was !== undefined).map((c) => [c.was, c.name]));
  const [tree, common] = merged(a.folded(), b.folded(), renamed);
  const metric = common.includes('energy') ? 'energy' : 'time', words = metricFigure[metric];
  const m = metric === 'energy' ? mark(a) || mark(b) : '';
  const sumA = tree.sum(metric + 'A'), sumB = tree.sum(metric + 'B');
  const f = flame('difference');
  const load = (width) => f.load(tree, {
    metric: metric + { before: 'A', after: 'B', both: '' }[width], figure: words, mark: m,
    color: (i) => {
      const from = sumA[i], to = sumB[i], d = (to - from) / Math.max(from, to, 1e-12);
      if (Math.abs(d) < 0.02) return 'var(--other)';
      return `color-mix(in srgb, var(${d > 0 ? '--more' : '--less'}) ${Math.round(20 + 80 * Math.min(1, Math.abs(d)))}%, var(--other))`;
    },
    describe: (i) => [el('b', {}, tree.name(i)), el('small', {}, place(tree, i)), ' · ', m + text(words(sumA[i])), ' → ', m + text(words(sumB[i])),
      ' (', sumA[i] > 0 ? signed(changed(sumA[i], sumB[i])) : 'new', ', ', text(signedFigure(words, sumB[i] - sumA[i])), ')'],
  });
  const tools = [choice('Width', [['before', names[0], 'as in the first run'], ['both', 'Both', 'the sum of both'], ['after', names[last], 'as in the last run']], 'both', load),
    el('button', { type: 'button', id: 'difference-reset', onclick: () => f.reset() }, 'Reset')];
  const out = section('difference', `Call paths, ${names[0]} → ${names[last]}`, tools, el('div', { class: 'bar' }, f.line), el('div', { class: 'scroll' }, f.box),
    el('p', { class: 'hint' }, el('span', { class: 'key more' }), ' uses more, ', el('span', { class: 'key less' }), ' uses less than before, with all that it called; the stronger the colour, the larger the part that changed.'));
  out.start = () => { f.start(); load('both'); };
  return out;
}
