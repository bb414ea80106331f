// Power over time: a chart of the domains, one of the processors in use, the
// tasks below them on the same axis, and the whole run as a strip to move in.

const domainColors = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6'];

// between gives a cumulative column at a time, of which it is linear between
// samples.
function between(times, column, t) {
  let lo = 0, hi = times.length - 1;
  if (t <= times[0]) return column[0];
  if (t >= times[hi]) return column[hi];
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (times[mid] <= t) lo = mid; else hi = mid;
  }
  return column[lo] + (column[hi] - column[lo]) * (t - times[lo]) / (times[hi] - times[lo]);
}

// ceiling is where an axis of values ends: at the greatest, or, where that is a spike, at
// the value that 99.9 of 100 do not exceed.
function ceiling(values) {
  let most = 0, n = 0;
  for (const v of values) if (v !== null && v !== undefined) { n++; if (v > most) most = v; }
  if (n < 20 || most <= 0) return most;
  const steps = new Uint32Array(1000);
  for (const v of values) if (v !== null && v !== undefined) steps[Math.min(999, Math.floor(1000 * Math.max(0, v) / most))]++;
  let above = 0, k = 999;
  const few = Math.max(1, Math.floor(n / 1000));
  for (; k >= 0 && above + steps[k] <= few; k--) above += steps[k];
  const limit = (k + 1) / 1000 * most;
  return most > 1.5 * limit ? limit : most;
}

function power(run) {
  const s = run.samples;
  if (!s.t_us || s.t_us.length < 2) return null;
  const times = s.t_us.map((t) => t * 1e-6), end = times[times.length - 1];
  const topology = run.meta.domain_topology, m = mark(run);
  const ids = Object.keys(s.domains).sort((a, b) => (topology[b]?.top_level - topology[a]?.top_level) || a.localeCompare(b, 'en', { numeric: true }));
  const tops = ids.filter((id) => topology[id]?.top_level);
  const series = ids.map((id, i) => ({ id, name: id, color: domainColors[i % domainColors.length], dash: topology[id]?.top_level ? undefined : [4, 3], w: s.domains[id].w, uj: s.domains[id].uj, shown: true }));
  if (tops.length > 1) {
    series.unshift({
      id: 'all', name: 'machine', color: '--ink', shown: true,
      w: times.map((_, i) => tops.every((id) => s.domains[id].w[i] !== null) ? tops.reduce((sum, id) => sum + s.domains[id].w[i], 0) : null),
      uj: times.map((_, i) => tops.reduce((sum, id) => sum + s.domains[id].uj[i], 0)),
    });
  }
  // A power is the mean since the sample before, so the first sample has none;
  // the line begins there with that of the second.
  for (const d of series) d.w = [d.w[1], ...d.w.slice(1)];
  const use = (column) => times.map((_, k) => k || 1).map((i) => Math.max(0, (column[i] - column[i - 1]) / Math.max(1, s.t_us[i] - s.t_us[i - 1])));
  const cpu = [
    { name: 'the program', color: '--c1', uj: s.program_us },
    { name: 'other processes', color: '--l3', uj: s.other_us },
    { name: 'cg', color: '--l5', uj: s.own_us },
  ];
  for (const d of cpu) d.w = use(d.uj);

  const view = cg.range && cg.range[0] < end ? { from: cg.range[0], to: Math.min(end, cg.range[1]) } : { from: 0, to: end };
  const limit = { power: greatest(series.map((d) => ceiling(d.w)), 0), cpu: greatest(cpu.map((d) => ceiling(d.w)), 0) };
  const charts = [];
  const readout = el('p', { class: 'readout', id: 'power-readout', 'aria-live': 'polite' });
  const plot = el('div', { class: 'plot', id: 'power-plot', tabindex: '0', role: 'group', 'aria-label': 'Power over time. Arrow keys move, plus and minus zoom, 0 shows all.' });
  const cpuPlot = el('div', { class: 'plot' });
  const lanes = el('div', { class: 'lanes', id: 'lanes' });
  const strip = el('div', { class: 'strip', id: 'strip' });
  const brush = el('div', { class: 'brush' }, el('b', { class: 'w' }), el('b', { class: 'e' }));

  const show = (from, to) => {
    const least = Math.max(end * 1e-5, 1e-6);
    let span = Math.min(end, Math.max(least, to - from));
    from = Math.max(0, Math.min(end - span, from));
    view.from = from;
    view.to = from + span;
    drawn();
    cg.range = view.from <= 0 && view.to >= end ? null : [view.from, view.to];
    remember();
    if (!pending) pending = requestAnimationFrame(draw);
  };
  let pending = 0;
  function draw() {
    pending = 0;
    drawLanes();
    calls?.draw();
    const steps = step();
    for (const u of charts) {
      u.batch(() => {
        u.setData([steps.at, ...u.columns.flatMap((d) => detail(d, steps))], false);
        u.setScale('x', { min: view.from, max: view.to });
      });
    }
    const cut = series.map((d) => d.w.reduce((n, w, i) => n + (w > limit.power * 1.05 && times[i] >= view.from && times[i] <= view.to ? 1 : 0), 0)).reduce((a, b) => a + b, 0);
    meaning.textContent = [steps.span ? `The lines are means over ${text(figure.time(steps.span))}, in the area between the least and the most of them.` : '',
      cut ? `${several(cut, 'sample')} above the axis ${cut === 1 ? 'is' : 'are'} marked ▲, up to ${m}${text(figure.power(greatest(series.map((d) => greatest(d.w, 0)), 0)))}.` : ''].filter(Boolean).join(' ');
    for (const f of [inRange.draw, ...cg.redraw]) f();
  }
  const zoom = (factor, at) => {
    const t = at ?? (view.from + view.to) / 2, span = (view.to - view.from) * factor;
    show(t - (t - view.from) * factor, t - (t - view.from) * factor + span);
  };
  const pan = (part) => { const d = (view.to - view.from) * part; show(view.from + d, view.to + d); };

  // The level of detail: the samples in view, or, where there are more of them
  // than can be told apart, as many steps as there is room for.
  function step() {
    const room = Math.max(100, Math.floor(lanes.clientWidth / 2.5));
    let first = after(view.from), last = Math.min(times.length - 1, after(view.to));
    first = Math.max(0, first - 1);
    if (last - first <= 2 * room) return { first, last, at: times.slice(first, last + 1), span: 0 };
    const span = (view.to - view.from) / room;
    return { first, last, at: Array.from({ length: room + 1 }, (_, k) => view.from + k * span), span };
  }
  // after is the first sample later than t.
  function after(t) {
    let lo = 0, hi = times.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (times[mid] <= t) lo = mid + 1; else hi = mid; }
    return lo;
  }
  // detail gives the most, the least and the mean of a domain at each step. Means
  // come from cumulative energies, so they are exact.
  function detail(d, { first, last, at, span }) {
    if (!span) return [at.map(() => null), at.map(() => null), d.w.slice(first, last + 1)];
    const most = new Array(at.length).fill(-Infinity), least = new Array(at.length).fill(Infinity), mean = [];
    for (let i = first + 1; i <= last; i++) {
      const from = Math.max(1, Math.ceil((times[i - 1] - view.from) / span)), to = Math.min(at.length - 1, Math.ceil((times[i] - view.from) / span));
      for (let k = from; k <= to; k++) {
        if (d.w[i] > most[k]) most[k] = d.w[i];
        if (d.w[i] < least[k]) least[k] = d.w[i];
      }
    }
    let before = between(times, d.uj, at[0]);
    for (let k = 1; k < at.length; k++) {
      const uj = between(times, d.uj, at[k]);
      mean[k] = (uj - before) * 1e-6 / span;
      before = uj;
    }
    for (const column of [most, least, mean]) column[0] = column[1];
    return [most.map((v) => v === -Infinity ? null : v), least.map((v) => v === Infinity ? null : v), mean];
  }

  function drawn() {
    const all = view.from <= 0 && view.to >= end;
    const parts = series.filter((d) => d.shown).map((d) => {
      const j = (between(times, d.uj, view.to) - between(times, d.uj, view.from)) * 1e-6;
      return [' · ', el('span', { class: 'key', css: { background: `var(${d.color})` } }), d.name, ' ', el('b', {}, m + text(figure.energy(j))), ' at ', m + text(figure.power(j / (view.to - view.from)))];
    });
    const at = (t) => t === 0 ? '0\u00a0s' : text(figure.time(t));
    readout.replaceChildren(all ? 'The whole run, ' : `${at(view.from)} to ${at(view.to)}, `, text(figure.time(view.to - view.from)), ...parts.flat());
    plot.dataset.from = view.from;
    plot.dataset.to = view.to;
    brush.style.left = 100 * view.from / end + '%';
    brush.style.width = 100 * (view.to - view.from) / end + '%';
    brush.classList.toggle('all', all);
  }

  // Tasks lie in lanes: the program in the first, the others below each other
  // where they overlap.
  const tasks = run.tasks.map((t, i) => ({ t, i, from: (t.started_at_mono_ns - s.start_ns) * 1e-9, to: (t.ended_at_mono_ns - s.start_ns) * 1e-9 }))
    .sort((a, b) => a.t.depth - b.t.depth || a.from - b.from);
  const ends = [];
  let floor = 0, depth = -1;
  for (const k of tasks) {
    if (k.t.depth !== depth) { floor = ends.length; depth = k.t.depth; }
    let lane = floor;
    while (lane < ends.length && ends[lane] > k.from + 1e-9 && lane < floor + 11) lane++;
    k.lane = lane;
    ends[lane] = Math.max(ends[lane] || 0, k.to);
  }
  function drawLanes() {
    const width = lanes.clientWidth - 64 - 28, scale = width / (view.to - view.from);
    if (width <= 0) return;
    const out = [], last = [];
    for (const k of tasks) {
      if (k.to < view.from || k.from > view.to) continue;
      const x = (Math.max(k.from, view.from) - view.from) * scale, w = (Math.min(k.to, view.to) - view.from) * scale - x;
      if (x + w < (last[k.lane] ?? -1)) continue; // behind one that is drawn: narrower than a pixel
      last[k.lane] = Math.ceil(x + Math.max(w, 1));
      out.push(el('span', {
        class: 'task', title: `${k.t.name}\n${m}${text(figure.energy(k.t.energy_j))} in ${text(figure.time(k.t.duration_s))}`,
        css: { left: 64 + x + 'px', width: Math.max(1, w - 1) + 'px', top: k.lane * 20 + 'px', background: k.t.depth ? `hsl(${hue(k.t.name.split('::')[0])} var(--fs) var(--fl))` : 'var(--root)' },
      }, w > 40 ? shortened(k.t.name, Math.floor((w - 9) / 6.7)) : ''));
    }
    lanes.style.height = ends.length * 20 + 'px';
    lanes.replaceChildren(el('span', { class: 'lanes-label' }, 'tasks'), ...out);
  }

  const axis = (label, size) => ({ stroke: () => theme.color('--soft'), grid: { stroke: () => theme.color('--grid'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif', labelFont: '12px system-ui, sans-serif', label, labelSize: 16, labelGap: 0, size, gap: 6 });
  const seconds = (u, values) => { const step = values.length > 1 ? values[1] - values[0] : 1; let n = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9))); while (n < 6 && Math.abs(step * 10 ** n - Math.round(step * 10 ** n)) > 1e-3) n++; return values.map((v) => v.toFixed(n) + ' s'); };
  const sync = uPlot.sync('time-' + run.meta.run_id);

  function chart(into, columns, { height, label, x, top }) {
    const stepped = uPlot.paths.stepped({ align: -1 });
    const u = new uPlot({
      width: Math.max(200, into.clientWidth), height,
      padding: [8, 28, x ? 0 : 6, 0],
      legend: { show: false },
      cursor: { sync: { key: sync.key, filters: { pub: (type) => type === 'mousemove' || type === 'mouseleave' } }, drag: { x: true, y: false, setScale: false }, points: { show: false } },
      select: { show: true },
      scales: { x: { time: false, min: 0, max: end, auto: false }, y: { range: (u, lo, hi) => [0, Math.min(hi || 1, top || hi || 1) * 1.05] } },
      axes: [{ ...axis('', 26), values: seconds, space: 72, show: x, labelSize: 0, label: undefined }, { ...axis(label, 48) }],
      series: [{}, ...columns.flatMap((d) => [
        { label: d.name + ', most', stroke: 'transparent', width: 0, paths: stepped, points: { show: false } },
        { label: d.name + ', least', stroke: 'transparent', width: 0, paths: stepped, points: { show: false } },
        { label: d.name, stroke: () => theme.color(d.color), width: 1.5, dash: d.dash, paths: stepped, points: { show: false },
          fill: columns.length === 1 || d.id === 'all' ? () => theme.color('--wash') : undefined },
      ])],
      bands: columns.map((d, k) => ({ series: [3 * k + 1, 3 * k + 2], fill: () => theme.color(d.color) + '38' })),
      hooks: {
        draw: [(u) => { // what reaches above the axis
          const c = u.ctx, ratio = devicePixelRatio || 1, seen = new Set();
          c.fillStyle = theme.color('--bad');
          for (const d of columns) {
            for (let i = after(view.from); i < times.length && times[i] <= view.to; i++) {
              if (!(d.w[i] > top * 1.05)) continue;
              const px = Math.round(u.valToPos(times[i], 'x', true));
              if (seen.has(px)) continue;
              seen.add(px);
              c.beginPath();
              c.moveTo(px, u.bbox.top);
              c.lineTo(px - 4 * ratio, u.bbox.top + 7 * ratio);
              c.lineTo(px + 4 * ratio, u.bbox.top + 7 * ratio);
              c.fill();
            }
          }
        }],
        setSelect: [(u) => {
          if (u.select.width > 2) { show(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x')); }
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [(u) => {
          if (u.cursor.left >= 0) {
            const i = Math.min(times.length - 1, Math.max(1, after(u.posToVal(u.cursor.left, 'x'))));
            line.replaceChildren('at ', text(figure.time(times[i])), ': ', ...series.filter((d) => d.shown).map((d, k) => [k ? ', ' : '', d.name, ' ', el('b', {}, d.w[i] === null ? '?' : m + text(figure.power(d.w[i])))]).flat(),
              ' · processors in use: ', ...cpu.map((d, k) => [k ? ', ' : '', d.name, ' ', el('b', {}, d.w[i] === null ? '?' : d.w[i].toFixed(2))]).flat());
          } else line.replaceChildren('Drag over the chart to zoom in; Ctrl and the wheel zoom, Shift and the wheel move; a double click shows all.');
        }],
      },
    }, [[0, end], ...columns.flatMap(() => [[null, null], [null, null], [null, null]])], into);
    u.columns = columns;
    u.over.addEventListener('dblclick', () => show(0, end));
    u.over.addEventListener('mousemove', (e) => {
      const t = Math.max(0, Math.min(end, u.posToVal(e.offsetX, 'x'))), i = Math.min(times.length - 1, Math.max(1, after(t)));
      tip.show(e, 'at ', text(figure.time(t)), columns.filter((d) => d.shown !== false).map((d) => [el('br', {}), el('span', { class: 'key', css: { background: `var(${d.color})` } }), d.name, ' ',
        el('b', {}, d.w[i] === null ? '?' : columns === cpu ? d.w[i].toFixed(2) : m + text(figure.power(d.w[i]))), columns === cpu ? '' : `, ${m}${text(figure.energy(between(times, d.uj, t) * 1e-6))} so far`]));
    });
    u.over.addEventListener('mouseleave', tip.hide);
    u.over.addEventListener('wheel', (e) => {
      if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, u.posToVal(e.offsetX, 'x')); } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); pan(Math.sign(e.deltaX || e.deltaY) * 0.1); }
    }, { passive: false });
    charts.push(u);
    wide(into, (w) => { u.setSize({ width: w, height }); show(view.from, view.to); });
    return u;
  }
  const line = el('p', { class: 'hint' }), meaning = el('p', { class: 'hint' });
  plot.addEventListener('keydown', (e) => {
    const act = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: () => show(0, end), Escape: () => show(0, end) }[e.key];
    if (act && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); act(); }
  });

  // The strip: the whole run, with the part that is shown as a window.
  strip.append(brush);
  let grip = null;
  strip.addEventListener('pointerdown', (e) => {
    const box = strip.getBoundingClientRect(), t = (e.clientX - box.left) / box.width * end;
    const edge = 8 / box.width * end;
    if (Math.abs(t - view.from) < edge && !brush.classList.contains('all')) grip = { what: 'w' };
    else if (Math.abs(t - view.to) < edge && !brush.classList.contains('all')) grip = { what: 'e' };
    else if (t > view.from && t < view.to && !brush.classList.contains('all')) grip = { what: 'pan', at: t - view.from };
    else grip = { what: 'new', at: t };
    strip.setPointerCapture(e.pointerId);
  });
  strip.addEventListener('pointermove', (e) => {
    if (!grip) return;
    const box = strip.getBoundingClientRect(), t = Math.max(0, Math.min(end, (e.clientX - box.left) / box.width * end));
    if (grip.what === 'w') show(Math.min(t, view.to - end * 1e-3), view.to);
    else if (grip.what === 'e') show(view.from, Math.max(t, view.from + end * 1e-3));
    else if (grip.what === 'pan') show(t - grip.at, t - grip.at + view.to - view.from);
    else if (Math.abs(t - grip.at) > end * 2e-3) show(Math.min(t, grip.at), Math.max(t, grip.at));
  });
  strip.addEventListener('pointerup', () => { grip = null; });
  strip.addEventListener('dblclick', () => show(0, end));
  function drawStrip(w) {
    let canvas = strip.querySelector('canvas');
    if (!canvas) strip.prepend(canvas = el('canvas', {}));
    const ratio = devicePixelRatio || 1, h = 34, c = canvas.getContext('2d');
    canvas.width = w * ratio; canvas.height = h * ratio;
    c.scale(ratio, ratio);
    const d = series[0] || { w: cpu[0].w, color: '--c1' };
    const most = Math.max(1e-9, ...chunks(d.w, w).filter((v) => v !== null));
    c.fillStyle = theme.color('--strip');
    let x = 0;
    for (const v of chunks(d.w, w, times, end)) { if (v !== null) c.fillRect(x, h - h * v / most, 1, h); x++; }
  }
  // chunks gives the largest value of each of n columns of pixels.
  function chunks(w, n) {
    const out = new Array(n).fill(null);
    for (let i = 1; i < w.length; i++) {
      if (w[i] === null) continue;
      const from = Math.floor(times[i - 1] / end * n), to = Math.min(n - 1, Math.floor(times[i] / end * n));
      for (let x = from; x <= to; x++) out[x] = Math.max(out[x] ?? 0, w[i]);
    }
    return out;
  }

  const keys = el('div', { class: 'keys' }, series.map((d) => el('label', {},
    el('input', { type: 'checkbox', checked: true, onchange: (e) => { d.shown = e.target.checked; for (const k of [1, 2, 3]) charts[0].setSeries(3 * series.indexOf(d) + k, { show: d.shown }); drawn(); } }),
    el('span', { class: 'key', css: { background: `var(${d.color})` } }), d.name, topology[d.id] && !topology[d.id].top_level ? el('small', {}, '\u00a0part') : null)));
  const button = (label, title, act) => el('button', { type: 'button', title, 'aria-label': title, onclick: act }, label);
  const tools = [series.length > 1 ? keys : null, el('div', { class: 'choice' },
    button('−', 'Zoom out', () => zoom(2)), button('+', 'Zoom in', () => zoom(0.5)), el('button', { type: 'button', id: 'power-all', title: 'Show the whole run', onclick: () => show(0, end) }, 'All'))];
  const cpuKeys = el('div', { class: 'keys small' }, cpu.map((d) => el('span', {}, el('span', { class: 'key', css: { background: `var(${d.color})` } }), d.name)));

  const inRange = rangeOf(run);
  const calls = callLanes(run, 64, 28, view, show);
  const out = section('power', 'Power over time', tools, readout, series.length ? plot : null,
    el('div', { class: 'sub' }, 'Processors in use', cpuKeys), cpuPlot, lanes, calls?.element, strip, meaning, line, inRange.element);
  out.start = () => {
    if (series.length) plot.chart = chart(plot, series, { height: 240, label: 'watts', x: false, top: limit.power });
    chart(cpuPlot, cpu, { height: 110, label: 'processors', x: true, top: limit.cpu });
    charts[0].setCursor({ left: -10, top: -10 });
    wide(strip, drawStrip);
    show(view.from, view.to);
    const redraw = () => { for (const u of charts) u.redraw(); drawStrip(strip.clientWidth); };
    theme.listeners.push(redraw);
    cg.timeline = { show: () => show(0, end) };
    let marked = null; // what was chosen and searched when the calls were drawn
    cg.redraw.push(() => {
      const as = [cg.chosen?.name, cg.chosen?.file, cg.chosen?.line, cg.search.hits];
      if (marked?.every((v, i) => v === as[i]) || !(shown(plot) || shown(cpuPlot))) return;
      marked = as;
      calls?.draw();
      inRange.draw();
    });
  };
  return out;
}
