// What is known of the function that is chosen, beside the views.

function panel(run, go) {
  const box = el('aside', { id: 'chosen', 'aria-label': 'The chosen function', hidden: true });
  const m = mark(run), known = run.totals.program_energy_j !== null, colors = painter(run);
  const most = greatest(run.functions.map((f) => f.self_energy_hi_j || 0), 0);
  const line = (name, ...value) => [el('dt', {}, name), el('dd', {}, value)];
  const rows = (title, list, whole) => list.length ? [el('h3', {}, title), el('table', {}, el('tbody', {}, list.slice(0, 12).map((k) => el('tr', {},
    el('th', { scope: 'row' }, k.file ? el('span', { class: 'named' }, colors.swatch(k.name, k.file), el('button', { type: 'button', class: 'name', onclick: () => choose(k) }, parted(k.name)), el('small', { class: 'where' }, apartBy(run, k))) : el('span', { class: 'name' }, parted(k.name))),
    el('td', {}, number(whole.words(k.sum), whole.mark)))))), list.length > 12 ? el('p', { class: 'hint' }, `and ${list.length - 12} more`) : null] : null;
  const inner = (f) => f.inner ? [el('h3', {}, 'Inside it, sampled'), el('table', {}, el('tbody', {}, f.inner.slice(0, 12).map((g) => el('tr', {},
    el('th', { scope: 'row' }, el('span', { class: 'name' }, parted(g.name))),
    el('td', {}, figure.count(g.samples)[0]),
    el('td', { title: known ? range(g.energy[1], g.energy[2]) : null }, known ? number(figure.energy(g.energy[0]), m) : ''))))),
  f.inner.length > 12 ? el('p', { class: 'hint' }, `and ${f.inner.length - 12} more`) : null,
  el('p', { class: 'hint' }, 'Functions without checkpoints that it called, with their stack samples, and their part of its own energy by these.')] : null;
  const inPart = (k) => !k ? ['it did not run'] : [...(known ? [number(figure.energy(k.energy), m), ' itself in '] : []), text(figure.time(k.time)), el('small', {}, known ? `, with what it called ${m}${text(figure.energy(k.wholeEnergy))}` : '')];
  let last = '';
  function draw() {
    const c = cg.chosen, f = c && run.functions.find((g) => same(g, c));
    box.hidden = !f;
    document.body.classList.toggle('choosing', Boolean(f));
    const inRange = f && partOf(run), part = inRange?.functions ? inRange : null, key = f ? [f.name, f.file, f.line, cg.read, part?.from, part?.to].join('\0') : '';
    if (!f || key === last) { last = key; return; }
    last = key;
    const [t] = treesOf(run), metric = run.paths.energy ? 'energy' : 'time', whole = { words: metricFigure[metric], mark: metric === 'energy' ? m : '' };
    const kind = t ? t.kinds.findIndex((k) => same(k, f)) : -1;
    const near = kind < 0 ? { callers: [], callees: [] } : around(t, metric, kind);
    const where = f.file ? `${f.file}:${f.line}` : '';
    const copied = el('small', { 'aria-live': 'polite' });
    box.replaceChildren(...[
      el('div', { class: 'title' }, el('h2', { class: 'name', title: f.name }, parted(f.name)), el('button', { type: 'button', id: 'chosen-close', 'aria-label': 'Select nothing', onclick: () => choose(null) }, '×')),
      where ? el('p', {}, el('code', { class: 'place' }, where), ' ', el('button', { type: 'button', id: 'chosen-copy', title: 'Copy file and line', onclick: () => copy(where).then((ok) => { copied.textContent = ok ? 'copied' : 'the browser does not allow it'; }) }, 'Copy'), ' ', copied) : null,
      el('p', { class: 'tools' }, el('button', { type: 'button', onclick: () => go.tab('flames') }, 'Call paths'), go.source(f.file) ? el('button', { type: 'button', onclick: () => go.show(f.file, f.line) }, 'Source') : null),
      el('dl', {},
        part ? line('In this part', ...inPart(part.functions.get(f))) : null,
        known ? line('Self', number(figure.energy(f.self_energy_j), m), interval(f.self_energy_lo_j, f.self_energy_j, f.self_energy_hi_j, most), el('small', {}, range(f.self_energy_lo_j, f.self_energy_hi_j))) : null,
        known ? line('Share', text(figure.percent(f.share_percent)), ' of the program') : null,
        known ? line('Inclusive', number(figure.energy(f.inclusive_energy_j), m)) : null,
        line(run.sampled ? 'Samples' : 'Calls', figure.count(f.calls)[0], f.calls_cut ? el('small', {}, `, ${figure.count(f.calls_cut)[0]} of them without an end`) : null),
        line('Self time', text(figure.time(f.self_time_s))), line('Time', text(figure.time(f.inclusive_time_s))),
        known ? line('Power', (f.avg_power_w === null ? '' : m) + text(figure.power(f.avg_power_w))) : null,
        perCall(run, f) ? line('Each call', perCall(run, f)) : null,
        f.calls_time ? line('Duration of a call', ...durations(f.calls_time)) : null,
        known && f.energy_method ? line('Found by', f.energy_method) : null,
        known && f.unresolved ? line('Not told apart', f.unresolved, f.unresolved_with ? ' with ' + f.unresolved_with.join(', ') : '') : null),
      inner(f),
      rows('Called by', near.callers, whole), rows('Calls', near.callees, whole),
    ].flat(3).filter(Boolean));
    box.scrollTop = 0;
  }
  cg.redraw.push(draw);
  box.start = draw;
  return box;
}

// durations tell how long calls took: the median and the 95th percentile with their bounds, and a histogram
// of quarters of an octave, in which the bounds are lines.
function durations(t) {
  const words = (s) => text(figure.time(s)), upTo = (s) => s === null ? '?' : words(s);
  const told = [
    el('span', {}, `median ${words(t.median_s)}`), ' ', el('small', {}, `${words(t.median_lo_s)} to ${upTo(t.median_hi_s)}`), el('br', {}),
    el('span', {}, `p95 ${words(t.p95_s)}`), ' ', el('small', {}, `${words(t.p95_lo_s)} to ${upTo(t.p95_hi_s)}`), el('br', {}),
  ];
  const those = el('small', {}, `${words(t.min_s)} to ${words(t.max_s)}, of ${figure.count(t.n)[0]} calls that were timed`);
  if (!t.bins || !t.bins.length) return [...told, those];
  const wide = 4, second = (step) => step <= 0 ? 0 : 2 ** (step / 16) * 1e-9, column = (step) => Math.floor(step / wide);
  const first = column(t.bins.reduce((n, b) => Math.min(n, b[0]), Infinity)), last = column(t.bins.reduce((n, b) => Math.max(n, b[1]), 0));
  const heights = Array(last - first + 1).fill(0);
  for (const [from, to, calls] of t.bins) { // spread evenly over its steps
    const steps = Math.max(1, to - from);
    for (let k = 0; k < steps; k++) heights[column(from + k) - first] += calls / steps;
  }
  const most = greatest(heights, 0), h = 40, place = (s) => (Math.max(0, 16 * Math.log2(Math.max(s, 1e-12) * 1e9)) / wide) - first;
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
  const shape = (name, attributes, title) => {
    const e = document.createElementNS(ns, name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (title) { const words = document.createElementNS(ns, 'title'); words.textContent = title; e.append(words); }
    svg.append(e);
  };
  svg.setAttribute('viewBox', `0 0 ${heights.length} ${h}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `Calls by their duration, from ${words(t.min_s)} to ${words(t.max_s)}; the median is ${words(t.median_s)}, the 95th percentile ${words(t.p95_s)}`);
  for (const [lo, hi] of [[t.median_lo_s, t.median_hi_s], [t.p95_lo_s, t.p95_hi_s]]) {
    const from = place(lo), to = hi === null ? heights.length : place(hi);
    shape('rect', { x: from, y: 0, width: Math.max(.08, to - from), height: h, class: 'bounds' });
  }
  heights.forEach((n, i) => {
    if (n <= 0) return;
    const tall = Math.max(1, n / most * (h - 3));
    shape('rect', { x: i + .06, y: h - tall, width: .88, height: tall, class: 'calls' }, `${words(second((first + i) * wide))} to ${words(second((first + i + 1) * wide))}: ${figure.count(Math.round(n))[0]} calls`);
  });
  return [...told, el('div', { class: 'histogram' }, svg), those];
}

// copy puts a text on the clipboard, and tells whether that was allowed.
async function copy(words) {
  try { await navigator.clipboard.writeText(words); return true; } catch { /* a page from a file may not */ }
  const area = el('textarea', {});
  area.value = words;
  document.body.append(area);
  area.select();
  const ok = document.execCommand('copy');
  area.remove();
  return ok;
}
