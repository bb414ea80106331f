// Calls over time, below the chart of power and on its axis: a lane for each
// thread, in it a row for each level of calls. They are drawn, since there can be many.

const laneRow = 13, laneGap = 7, laneRows = 12;

// threadWords names a thread: by what the program or the kernel calls it, and by its number.
function threadWords(thread) { return !thread.name ? String(thread.tid) : thread.tid ? `${thread.name} (${thread.tid})` : thread.name; }

// callLanes gives { element, draw } for a run with a timeline, null for one without.
// left and right are the margins of the axis; zoom shows a part of the run.
function callLanes(run, left, right, view, zoom) {
  const t = run.timeline;
  if (!t) return null;
  let top = 0;
  const lanes = [...t.threads, ...t.gpus].map((thread) => {
    const rows = Math.min(laneRows, 1 + thread.depth.reduce((a, b) => Math.max(a, b), 0));
    const lane = { thread, top, rows, height: rows * laneRow, gpu: t.gpus.includes(thread) };
    top += lane.height + laneGap;
    return lane;
  });
  const height = Math.max(top, laneRow);
  const canvas = el('canvas', { id: 'calls', role: 'img', 'aria-label': 'Calls over time: ' + [t.note, t.gpu_note].filter(Boolean).join('; ') });
  const box = el('div', { class: 'calls' }, canvas);
  const told = el('p', { class: 'hint', id: 'calls-told' });
  const said = [t.threads.length ? `Calls: ${t.note}. A click on one zooms to it and selects its function.` : '', t.gpus.length ? `On GPUs: ${t.gpu_note}.` : ''].filter(Boolean).join(' ');
  told.textContent = said;
  const colors = painter(run);
  let width = 0;

  const seconds = (us) => us * 1e-6;
  const kindAt = (i) => ({ name: t.sites[i], file: t.files[i], line: t.lines[i] });
  const functionAt = (i) => functionOf(run, t.sites[i], t.files[i], t.lines[i]);
  function draw() {
    if (width <= 0) return;
    const ratio = devicePixelRatio || 1, c = canvas.getContext('2d');
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + 'px';
    c.scale(ratio, ratio);
    c.clearRect(0, 0, width, height);
    c.font = '11px system-ui, sans-serif';
    c.textBaseline = 'middle';
    const room = width - left - right, scale = room / (view.to - view.from);
    if (room <= 0) return;
    c.save();
    c.beginPath();
    c.rect(left, 0, room, height);
    c.clip();
    for (const lane of lanes) {
      const { from, long, site, depth } = lane.thread, last = new Array(lane.rows).fill(-1);
      for (let i = 0; i < from.length; i++) {
        const row = depth[i];
        if (row >= lane.rows) continue;
        const begins = seconds(from[i]), ends = begins + seconds(long[i]);
        if (ends < view.from || begins > view.to) continue;
        const x0 = left + (Math.max(begins, view.from) - view.from) * scale, x1 = left + (Math.min(ends, view.to) - view.from) * scale;
        if (x1 <= last[row]) continue; // behind one that is drawn: narrower than a pixel
        last[row] = Math.ceil(Math.max(x1, x0 + 1));
        const w = Math.max(1, x1 - x0 - 0.5), y = lane.top + row * laneRow;
        const kind = kindAt(site[i]), { name } = kind, faded = cg.search.hits ? !cg.search.hits(kind) : cg.chosen && !same(kind, cg.chosen);
        c.globalAlpha = faded ? 0.35 : 1;
        c.fillStyle = `hsl(${colors.hue(name, kind.file)} ${theme.color('--fs')} ${theme.color('--fl')})`;
        c.fillRect(x0, y, w, laneRow - 1);
        if (w > 40) {
          c.save();
          c.beginPath();
          c.rect(x0, y, w - 2, laneRow);
          c.clip();
          c.fillStyle = theme.color('--box-ink');
          c.fillText(shortened(name, Math.floor((w - 4) / 6.4)), x0 + 3, y + laneRow / 2);
          c.restore();
        }
      }
    }
    c.restore();
    c.globalAlpha = 1;
    c.fillStyle = theme.color('--soft');
    for (const lane of lanes) {
      const { name, tid } = lane.thread, words = name ? shortened(name, Math.floor((left - 12) / 5)) || name : String(tid);
      c.fillText(words, 8, lane.top + laneRow / 2, left - 12);
      if (name && lane.rows > 1 && !lane.gpu) c.fillText(String(tid), 8, lane.top + laneRow * 1.5, left - 12);
    }
  }

  // at finds the call below the pointer: of those that are drawn there, the one
  // that began last.
  function at(e) {
    const b = canvas.getBoundingClientRect(), y = e.clientY - b.top, scale = (width - left - right) / (view.to - view.from);
    const time = view.from + (e.clientX - b.left - left) / scale, slack = 1 / scale;
    const lane = lanes.find((l) => y >= l.top && y < l.top + l.height);
    if (!lane || time < view.from || time > view.to) return null;
    const row = Math.floor((y - lane.top) / laneRow), { from, long, depth } = lane.thread;
    let found = -1;
    for (let i = 0; i < from.length; i++) {
      if (depth[i] === row && seconds(from[i]) <= time && seconds(from[i] + long[i]) + slack >= time) found = i;
    }
    return found < 0 ? null : { lane, i: found };
  }
  canvas.addEventListener('pointermove', (e) => {
    const f = at(e);
    canvas.style.cursor = f ? 'pointer' : '';
    if (!f) { told.textContent = said; tip.hide(); return; }
    const { from, long, site } = f.lane.thread, lasted = seconds(long[f.i]), name = t.sites[site[f.i]], words = threadWords(f.lane.thread);
    // Of a kernel it is energy above idle, by the mean of all its runs.
    const of = f.lane.gpu ? run.gpus.kernels.find((k) => k.name === name && k.domain === f.lane.thread.name) : functionAt(site[f.i]);
    const used = of && of.avg_power_w > 0 ? ` · by its power ${mark(run) || '~'}${text(figure.energy(lasted * of.avg_power_w))}` : '';
    tip.show(e, el('b', {}, name), ` · ${text(figure.time(lasted))}`, used, el('br', {}), el('small', {}, words));
    told.replaceChildren(el('b', {}, name), ` for ${text(figure.time(lasted))} from ${text(figure.time(seconds(from[f.i])))} on, ${f.lane.gpu ? 'on ' + words : `in thread ${words} of process ${f.lane.thread.pid}`}`, used);
  });
  canvas.addEventListener('pointerleave', () => { told.textContent = said; tip.hide(); });
  canvas.addEventListener('click', (e) => {
    const f = at(e);
    if (!f) return;
    const begins = seconds(f.lane.thread.from[f.i]), long = Math.max(1e-6, seconds(f.lane.thread.long[f.i]));
    zoom(begins - long * 0.05, begins + long * 1.05);
    const of = functionAt(f.lane.thread.site[f.i]);
    if (of) choose(of);
  });
  wide(box, (w) => { width = w; draw(); });
  theme.listeners.push(draw);
  return { element: [el('div', { class: 'sub' }, t.gpus.length ? 'Calls by thread, and what ran on GPUs' : 'Calls by thread'), box, told], draw };
}
