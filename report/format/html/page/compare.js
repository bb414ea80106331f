// Several runs side by side: totals, ledgers, functions with what changed from the first to
// each of the others, and the call paths of the first and the last in one picture.

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
  return (p >= 0.05 ? '+' : p <= -0.05 ? '−' : '±') + Math.abs(p).toFixed(Math.abs(p) >= 100 ? 0 : 1) + '\u00a0%';
}

function signedFigure(words, v) {
  const [n, u] = words(v);
  return [v > 0 ? '+' + n : n, u];
}

// changeOf shows a change with its verdict, for a cell below the figure that it is of. A change that is none is grey.
function changeOf(c, percent) {
  const tone = !c || noChange(c.verdict) ? 'soft' : percent > 0 ? 'bad' : percent < 0 ? 'good' : 'soft';
  return el('small', { class: 'change ' + tone, title: c ? ratios(c) : '' }, signed(percent), c && percent !== null ? ' ' : '', c ? verdict(c) : '');
}

function besideTotals(runs, names) {
  const first = runs[0].totals, last = runs.length - 1, many = runs.length > 2;
  const whole = (of, i) => {
    const c = cg.data.comparisons[i]?.totals.find((t) => t.of === of);
    return c && { ...c, lo: c.change_lo, hi: c.change_hi };
  };
  // With two runs the change stands beside them, with more below each.
  const energy = (label, value, lo, hi) => {
    const changes = runs.map((r) => changed(first[value], r.totals[value]));
    return el('tr', {}, el('th', { scope: 'row' }, label),
      runs.map((r, i) => el('td', {}, number(figure.energy(r.totals[value]), mark(r)), el('small', {}, range(r.totals[lo], r.totals[hi])), many && i ? changeOf(whole(value, i), changes[i]) : null)),
      many ? null : el('td', { class: 'change' }, signed(changes[last]), el('small', {}, ratios(whole(value, last))), el('small', {}, verdict(whole(value, last)))));
  };
  const plain = (label, cell, value) => el('tr', {}, el('th', { scope: 'row' }, label),
    runs.map((r, i) => el('td', {}, cell(r), many && i && value ? el('small', {}, signed(changed(value(runs[0]), value(r)))) : null)),
    many ? null : el('td', { class: 'change' }, value ? signed(changed(value(runs[0]), value(runs[last]))) : ''));
  return el('div', { class: 'scroll' }, el('table', { class: 'beside', id: 'beside' },
    el('thead', {}, el('tr', {}, el('th', {}, ''), names.map((n) => el('th', { scope: 'col' }, n)), many ? null : el('th', { scope: 'col' }, 'Change'))),
    el('tbody', {},
      energy('Program', 'program_energy_j', 'program_energy_lo_j', 'program_energy_hi_j'),
      energy('Machine', 'energy_j', 'energy_lo_j', 'energy_hi_j'),
      plain('Time', (r) => number(figure.time(r.totals.wall_duration_s)), (r) => r.totals.wall_duration_s),
      plain('Power of the machine', (r) => number(figure.power(r.totals.avg_power_w), r.totals.avg_power_w === null ? '' : mark(r)), (r) => r.totals.avg_power_w),
      plain('Kind', (r) => badge(r.totals.energy_kind)),
      plain('Exit status', (r) => String(r.process.exit_status)))),
  runs.some((r) => r.ledger.length) ? el('div', { class: 'ledgers' }, runs.map((r, i) => el('div', {}, el('span', { class: 'label' }, names[i]), r.ledger.length ? ledgerBar(r) : el('span', { class: 'soft' }, 'no energy known')))) : null,
  runs.some((r) => r.ledger.length) ? el('div', { class: 'keys' }, Object.keys(ledgerClass).filter((k) => runs.some((r) => r.ledger.some((l) => l.name === k && l.energy_j > 0))).map((k) => el('span', {}, el('span', { class: 'key ' + ledgerClass[k] }), k))) : null);
}

// changedRows has the functions of all runs: of[i] is that of run i, said[i] what holding it against the first run
// says. A function that was renamed is in one row, under the name that it has now.
function changedRows(runs, known) {
  const rows = new Map(), n = runs.length, key = (language, name) => language + '\0' + name;
  runs.forEach((r, i) => {
    for (const f of r.functions) {
      const of = key(f.language, f.name);
      if (!rows.has(of)) rows.set(of, { name: f.name, file: f.file, of: new Array(n).fill(null), said: new Array(n).fill(null) });
      const k = rows.get(of);
      if (!k.of[i]) k.of[i] = f; // a name that stands twice in a run is its dearest function
    }
  });
  const moved = new Map(), at = (of) => rows.get(of) || moved.get(of);
  for (let i = n - 1; i > 0; i--) {
    for (const c of cg.data.comparisons[i]?.functions || []) {
      let row = at(key(c.language, c.name));
      if (!row) continue;
      if (c.was !== undefined) {
        const old = key(c.language, c.was), was = at(old);
        if (!was) continue;
        if (was !== row) {
          const into = rows.get(old) === was ? row : was, from = into === row ? was : row, gone = from === was ? old : key(c.language, c.name);
          from.of.forEach((f, k) => { if (!into.of[k]) into.of[k] = f; });
          rows.delete(gone);
          moved.set(gone, into);
          row = into;
          row.was ||= c.was;
        }
      }
      if (known) row.said[i] = c;
    }
  }
  return [...rows.values()];
}

function changes(runs, names) {
  const last = runs.length - 1, many = runs.length > 2, known = runs.every((r) => r.totals.program_energy_j !== null);
  const cost = known ? 'self_energy_j' : 'self_time_s', words = known ? figure.energy : figure.time, all = changedRows(runs, known);
  const own = (k, i) => k.of[i] ? k.of[i][cost] : null;
  for (const k of all) {
    k.from = k.said.find(Boolean)?.base ?? own(k, 0);
    k.to = k.of.map((_, i) => i === 0 ? k.from : k.said[i] ? k.said[i].head : own(k, i));
    k.percent = k.to.map((v) => changed(k.from, v));
    k.verdict = k.of.map((f, i) => k.said[i] ? k.said[i].verdict : k.of[0] ? f ? '' : 'gone' : f ? 'new' : '');
    // The run that differs most from the first is that by which rows are sorted.
    k.most = last;
    k.to.forEach((v, i) => { if (Math.abs((v || 0) - (k.from || 0)) > Math.abs((k.to[k.most] || 0) - (k.from || 0))) k.most = i; });
    if (!many) k.most = last;
    k.delta = (k.to[k.most] || 0) - (k.from || 0);
  }
  const tone = (k, i) => noChange(k.verdict[i]) ? 'soft' : (k.to[i] || 0) > (k.from || 0) ? 'bad' : (k.to[i] || 0) < (k.from || 0) ? 'good' : '';
  const said = (k, i) => k.said[i] ? verdict(k.said[i]) : el('span', { class: 'soft' }, k.verdict[i]);
  const cell = (k, i) => [k.of[i] ? number(words(k.to[i]), known ? mark(runs[i]) : '') : el('span', { class: 'n soft' }, '–', el('i', {})),
    many && i ? el('small', { class: 'change', title: k.said[i] ? ratios(k.said[i]) : '' }, el('span', { class: tone(k, i) }, signed(k.percent[i])), ' ', said(k, i)) : null];
  const columns = [
    { key: 'name', head: 'Function', text: true, value: (k) => k.name, cell: (k) => el('div', { class: 'function' }, el('span', { class: 'name' }, parted(k.name)), k.was ? el('small', { class: 'was' }, 'was ', k.was) : null, k.file ? el('small', { class: 'where', title: k.file }, base(k.file)) : null) },
    ...names.map((n, i) => ({ key: 'run' + i, head: n, value: (k) => k.to[i], cell: (k) => cell(k, i) })),
    { key: 'delta', head: many ? 'Largest change' : 'Change', value: (k) => Math.abs(k.delta), cell: (k) => el('span', { class: tone(k, k.most) }, number(signedFigure(words, k.delta))) },
    !many && { key: 'percent', head: '%', value: (k) => k.percent[last], cell: (k) => el('span', { class: 'n' + (noChange(k.verdict[last]) ? ' soft' : '') }, signed(k.percent[last])) },
    !many && known && { key: 'interval', class: 'extra', head: 'Interval', title: 'of the change; sorted by the lower end', value: (k) => k.said[last] ? k.said[last].lo : null, cell: (k) => el('small', {}, ratios(k.said[last])) },
    !many && { key: 'verdict', head: 'Verdict', text: true, class: 'left', value: (k) => k.verdict[last], cell: (k) => said(k, last) },
  ].filter(Boolean);
  const t = sortable('changes', all, columns, { sort: 'delta', words: (k) => [k.name, k.was, k.file] });
  const those = cg.data.comparisons.filter(Boolean), notes = new Set(those.flatMap((c) => c.notes));
  const out = section('changes', known ? 'Functions, energy of their own' : 'Functions, time of their own', t.counted, t.table, t.more,
    those.length ? el('p', { class: 'hint' }, `Verdicts are about ${many ? 'each run and the first' : 'the first and the last run'}; a change smaller than ${100 * those[0].threshold} % is within the threshold.`) : null,
    [...notes].map((n) => el('p', { class: 'hint note' }, n[0].toUpperCase() + n.slice(1) + '.')));
  out.start = t.draw;
  return out;
}

// placeChanges has the lines or blocks of functions, as the last run is held against the first; null without any.
function placeChanges(runs, names) {
  const last = runs.length - 1, c = cg.data.comparisons[last], of = c?.places;
  if (!of) return null;
  const known = (v) => v === null ? el('span', { class: 'n soft' }, '–', el('i', {})) : null;
  // What is not known has no change; a side that did not come to a line used nothing there.
  const delta = (k) => k.verdict === 'base only' ? -(k.base || 0) : k.verdict === 'head only' ? k.head || 0 : k.base === null || k.head === null ? null : k.head - k.base, said = (k) => verdicts[k.verdict] ? verdict({ ...k, weak: c.weak }) : el('span', { class: 'soft' }, k.verdict);
  const columns = [
    { key: 'where', head: of.word === 'block' ? 'Block' : 'Line', text: true, value: (k) => k.where, cell: (k) => el('div', { class: 'function' }, el('code', { class: 'name' }, k.where), el('small', { class: 'where' }, k.function)) },
    { key: 'base', head: names[0], value: (k) => k.base, cell: (k) => known(k.base) || number(figure.energy(k.base), mark(runs[0])) },
    { key: 'head', head: names[last], value: (k) => k.head, cell: (k) => known(k.head) || number(figure.energy(k.head), mark(runs[last])) },
    { key: 'delta', head: 'Change', value: (k) => delta(k) === null ? null : Math.abs(delta(k)), cell: (k) => delta(k) === null ? known(null) : el('span', { class: noChange(k.verdict) ? 'soft' : delta(k) > 0 ? 'bad' : delta(k) < 0 ? 'good' : '' }, number(signedFigure(figure.energy, delta(k)))) },
    { key: 'percent', head: '%', value: (k) => changed(k.base, k.head), cell: (k) => el('span', { class: 'n' + (noChange(k.verdict) ? ' soft' : '') }, signed(changed(k.base, k.head))) },
    { key: 'interval', class: 'extra', head: 'Interval', title: 'of the change; sorted by the lower end', value: (k) => k.lo, cell: (k) => el('small', {}, ratios(k)) },
    { key: 'verdict', head: 'Verdict', text: true, class: 'left', value: (k) => k.verdict, cell: said },
  ];
  const t = sortable('place-changes', of.changes, columns, { sort: 'delta', words: (k) => [k.where] });
  const out = section('place-changes', (of.word === 'block' ? 'Blocks' : 'Lines') + ', energy of their own', t.counted, t.table, t.more,
    of.more ? el('p', { class: 'hint' }, `${of.more} more are not on this page: cg compare has them.`) : null);
  out.start = t.draw;
  return out;
}

// mergedOf joins the paths of two runs: the same names below the same names. Its columns are
// those of both, in A and B, and their sums. renamed gives functions of the first run the
// names that they have now. It runs in a worker.
function mergedOf({ sides, renamed, common }) {
  const names = new Map(renamed), numbers = new Map(), kinds = [], below = new Map();
  const number = (name, k) => {
    let n = numbers.get(name);
    if (n === undefined) { numbers.set(name, n = kinds.length); kinds.push({ name, file: k.file, line: k.line }); }
    return n;
  };
  const [a, b] = sides.map((t) => t.kinds[t.kind[0]].name), room = sides[0].parent.length + sides[1].parent.length;
  const parent = new Int32Array(room), kind = new Uint32Array(room), columns = {};
  for (const m of common) for (const side of ['A', 'B', '']) columns[m + side] = new Float64Array(room);
  parent[0] = -1;
  kind[0] = number(a === b ? a : `${a} → ${b}`, { file: '', line: 0 });
  let size = 1;
  sides.forEach((t, side) => {
    const to = new Uint32Array(t.parent.length), of = t.kinds.map((k) => number(side === 0 && k.file ? names.get(k.name) ?? k.name : k.name, k)), many = 2 ** 22;
    for (let i = 0; i < to.length; i++) {
      let at = 0;
      if (i > 0) {
        const up = to[t.parent[i]], key = up * many + of[t.kind[i]];
        at = below.get(key);
        if (at === undefined) {
          below.set(key, at = size++);
          parent[at] = up;
          kind[at] = of[t.kind[i]];
        }
      }
      to[i] = at;
      for (const m of common) { const v = t.columns[m][i]; columns[m + 'AB'[side]][at] += v; columns[m][at] += v; }
    }
  });
  const out = { parent: parent.slice(0, size), kind: kind.slice(0, size), kinds, columns: {} };
  for (const [m, column] of Object.entries(columns)) out.columns[m] = column.slice(0, size);
  return [out, [out.parent, out.kind, ...Object.values(out.columns)].map((l) => l.buffer)];
}

// difference is the view of the call paths of the first run and another, the last at first.
function difference(runs, names) {
  if (runs.filter((r) => r.paths.size).length < 2 || !runs[0].paths.size) return null;
  const f = flame('difference'), others = runs.map((r, i) => i).filter((i) => i > 0 && runs[i].paths.size), last = others[others.length - 1];
  const state = { other: last, width: 'both' }, known = new Map();
  const title = el('span', {}), bar = el('div', { class: 'bar' }, f.line), widths = el('span', {});
  // joined gives the paths of the first run and another in one tree.
  const joined = async (i) => {
    if (known.has(i)) return known.get(i);
    // A function that was renamed is one, under the name that it has now.
    const renamed = (cg.data.comparisons[i]?.functions || []).filter((c) => c.was !== undefined).map((c) => [c.was, c.name]);
    const sides = [runs[0].folded(), runs[i].folded()], common = ['energy', 'time', 'cpu', 'calls'].filter((m) => sides.every((t) => t.columns[m]));
    const t = await aside(mergedOf, [], { renamed, common, sides: sides.map((s) => ({ parent: s.parents, kind: s.kindOf, kinds: s.kinds, columns: s.columns })) });
    const out = { tree: treeFrom(t.parent, t.kind, t.kinds, t.columns), metric: common.includes('energy') ? 'energy' : 'time', mark: common.includes('energy') ? mark(runs[0]) || mark(runs[i]) : '' };
    known.set(i, out);
    return out;
  };
  const load = async () => {
    const i = state.other;
    out.setAttribute('aria-busy', 'true');
    const { tree, metric, mark: m } = await joined(i);
    if (i !== state.other) return; // another was picked meanwhile
    out.removeAttribute('aria-busy');
    const sumA = tree.sum(metric + 'A'), sumB = tree.sum(metric + 'B'), words = metricFigure[metric];
    title.textContent = `Call paths, ${names[0]} → ${names[i]}`;
    widths.replaceChildren(choice('Width', [['before', names[0], 'as in the first run'], ['both', 'Both', 'the sum of both'], ['after', names[i], 'as in the other run']], state.width, (w) => { state.width = w; load(); }));
    f.load(tree, {
      metric: metric + { before: 'A', after: 'B', both: '' }[state.width], figure: words, mark: m,
      color: (k) => {
        const from = sumA[k], to = sumB[k], d = (to - from) / Math.max(from, to, 1e-12);
        if (Math.abs(d) < 0.02) return 'var(--other)';
        return `color-mix(in srgb, var(${d > 0 ? '--more' : '--less'}) ${Math.round(20 + 80 * Math.min(1, Math.abs(d)))}%, var(--other))`;
      },
      describe: (k) => [el('b', {}, tree.name(k)), el('small', {}, place(tree, k)), ' · ', m + text(words(sumA[k])), ' → ', m + text(words(sumB[k])),
        ' (', sumA[k] > 0 ? signed(changed(sumA[k], sumB[k])) : 'new', ', ', text(signedFigure(words, sumB[k] - sumA[k])), ')'],
    });
  };
  const tools = [others.length > 1 ? choice('Run', others.map((i) => [String(i), names[i], 'this run against the first']), String(last), (v) => { state.other = Number(v); load(); }) : null,
    widths, el('button', { type: 'button', id: 'difference-reset', onclick: () => f.reset() }, 'Reset')];
  const out = section('difference', title, tools, bar, el('div', { class: 'scroll' }, f.box),
    el('p', { class: 'hint' }, el('span', { class: 'key more' }), ' uses more, ', el('span', { class: 'key less' }), ' uses less than before, with all that it called; the stronger the colour, the larger the part that changed.'));
  out.start = () => { f.start(); load(); };
  return out;
}
