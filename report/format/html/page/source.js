// The source of the program with the energy of each function beside its first
// line and a stripe along its lines. Where lines or blocks of functions are told, each has its energy in a column of
// its own, and the stripe is theirs. Else energy is known per function, not per line.

// Of a file those functions are shown that used this part of what all of it used; lines of no such function are
// folded, where they are more than a few. Lines are made in parts, so that a long file does not hold up the page.
const dearEnough = 0.01, foldedLines = 4, aroundLines = 2, chunkLines = 150;

// folderOf gives the folder that all files are in, with what stands behind it, '' where they have none in common.
function folderOf(files) {
  let folder = files[0].replace(/[^/\\]*$/, '');
  while (folder && !files.every((f) => f.startsWith(folder))) folder = folder.slice(0, -1).replace(/[^/\\]*$/, '');
  return folder;
}

function source(run) {
  const files = new Map(), m = mark(run);
  const known = run.totals.program_energy_j !== null;
  let shows = figuresOf(run);
  const cost = (f) => known ? shows.of(f).self_energy_j : shows.of(f).self_time_s;
  const words = known ? figure.energy : figure.time, whole = (f) => known ? f.self_energy_j : f.self_time_s;
  for (const f of run.functions) {
    if (!f.file || !cg.data.sources?.[f.file]) continue;
    if (!files.has(f.file)) files.set(f.file, { functions: [], cost: 0, open: [] });
    const k = files.get(f.file);
    k.functions.push(f);
    k.cost += whole(f);
  }
  if (!files.size) return null;
  const order = [...files.keys()].sort((a, b) => files.get(b).cost - files.get(a).cost);
  const ends = new Map(run.sites.map((s) => [s.file + '\0' + s.line + '\0' + s.name, s.end_line]));
  const state = view('source', { lines: 'dear' }), inside = folderOf(order);
  const pick = el('select', { id: 'source-file', 'aria-label': 'File', onchange: () => show(pick.value) },
    order.map((f) => el('option', { value: f }, `${f.slice(inside.length)} · ${(known ? m : '') + text(words(files.get(f).cost))}`)));
  const note = el('p', { class: 'readout' });
  const code = el('div', { class: 'code', id: 'source-code', tabindex: '0', role: 'region', 'aria-label': 'Source' });
  let now = null, drawnPart, turns = 0;
  const placed = run.functions.some((f) => f.places), what = run.meta.granularity === 'block' ? 'block' : 'line';
  const used = (p, k) => known ? p.self_uj[k] * 1e-6 : p.self_ns[k] * 1e-9;
  const dearest = placed && greatest(run.functions.flatMap((f) => f.places ? f.places.line.map((_, k) => used(f.places, k)) : []), 1e-12);

  // placesOf gives of each line of a file the innermost place that it is in, { f, k }, without the rest of functions.
  function placesOf(file) {
    const at = [];
    for (const { f, k } of files.get(file).functions.flatMap((f) => (f.places ? f.places.line.slice(0, -1) : []).map((_, k) => ({ f, k })))
      .sort((a, b) => b.f.places.end_line[b.k] - b.f.places.line[b.k] - a.f.places.end_line[a.k] + a.f.places.line[a.k]))
      for (let i = f.places.line[k]; i <= f.places.end_line[k]; i++) at[i] = { f, k };
    return at;
  }

  // placeCell is what stands beside a line of a function whose lines or blocks are told: what the place that begins
  // there used, or, beside the first line of the function, what its rest did.
  function placeCell(i, place, first) {
    const g = first.find((f) => f.places), begins = place && place.f.places.line[place.k] === i;
    const own = g && { f: g, k: g.places.line.length - 1 }; // the dearer of the two, where a function begins in a place of another
    const of = begins && !(own && used(g.places, own.k) > used(place.f.places, place.k)) ? place : own;
    if (!of) return el('span', { class: 'place' });
    const p = of.f.places, rest = of.k === p.line.length - 1, e = used(p, of.k);
    if (rest && !e) return el('span', { class: 'place' });
    const said = `${rest ? `the rest of ${of.f.name}, which is in no ${what}` : `this ${what}`}: ${known ? m : ''}${text(words(e))}, ${text(figure.time(p.self_ns[of.k] * 1e-9))}${rest ? '' : `, come to ${several(p.count[of.k], 'time')}`}`;
    return el('span', { class: 'place', title: said }, rest ? el('small', {}, 'rest ') : '', number(words(e), known ? m : ''), rest ? '' : el('small', {}, ` ×${text(figure.count(p.count[of.k]))}`));
  }

  function show(file, line, quietly) { now = { file, line, quietly }; draw(); }

  // shownLines gives what is shown of a file: numbers of lines, and { from, to, functions } of lines that are folded.
  function shownLines(lines, spans, all) {
    const keep = new Uint8Array(lines.length + 2), least = dearEnough * spans.reduce((sum, s) => sum + cost(s.f), 0);
    const hold = (from, to) => keep.fill(1, Math.max(1, from - aroundLines), Math.min(lines.length, to + aroundLines) + 1);
    for (const { f, from, to } of spans) if (cost(f) >= least && cost(f) > 0 || same(f, cg.chosen)) hold(from, to);
    if (now.line) hold(now.line, now.line);
    for (const [from, to] of files.get(now.file).open) keep.fill(1, from, to + 1);
    const out = [];
    for (let i = 1; i <= lines.length; i++) {
      let to = i;
      while (!keep[i] && to < lines.length && !keep[to + 1]) to++;
      if (!all && !keep[i] && to - i + 1 > foldedLines) out.push({ from: i, to, functions: spans.filter((s) => s.from >= i && s.from <= to) });
      else for (let k = i; k <= to; k++) out.push(k);
      i = to;
    }
    return out;
  }

  function draw() {
    const { file, line, quietly } = now, s = cg.data.sources[file], turn = ++turns;
    shows = figuresOf(run);
    drawnPart = shows.part;
    pick.value = file;
    note.textContent = s.note || '';
    note.hidden = !s.note;
    const most = greatest(run.functions.map(cost), 1e-12);
    const lines = s.text === '' ? [] : s.text.replace(/\r?\n$/, '').split(/\r?\n/);
    const wholeRun = shows.part === undefined || shows.part === null, placeAt = placed && wholeRun ? placesOf(file) : [];
    const owner = new Array(lines.length + 2).fill(null), starts = new Map();
    const spans = files.get(file).functions.map((f) => ({ f, from: f.line, to: ends.get(f.file + '\0' + f.line + '\0' + f.name) || f.line }));
    spans.sort((a, b) => (b.to - b.from) - (a.to - a.from));
    for (const { f, from, to } of spans) {
      for (let i = from; i <= Math.min(to, lines.length); i++) owner[i] = f;
      if (!starts.has(from)) starts.set(from, []);
      starts.get(from).push(f);
    }
    const row = (i) => {
      if (i.from) {
        const used = i.functions.reduce((sum, k) => sum + cost(k.f), 0);
        return el('button', { type: 'button', class: 'fold', 'data-from': i.from, 'data-to': i.to, onclick: () => { files.get(file).open.push([i.from, i.to]); now = { file, line: i.from, quietly: true }; draw(); } },
          `${several(i.to - i.from + 1, 'line')} folded`, i.functions.length ? `: ${several(i.functions.length, 'function')}, ${(known ? m : '') + text(words(used))}` : '');
      }
      const f = owner[i], first = starts.get(i) || [];
      const label = first.map((g) => el('span', { class: 'cost', title: `${g.name}: ${m}${text(words(cost(g)))} itself, ${several(shows.of(g).calls, counted(run))}` },
        number(words(cost(g)), known ? m : ''), el('span', { class: 'meter' }, el('span', { css: { width: 100 * cost(g) / most + '%' } }))));
      const place = placeAt[i], part = place ? used(place.f.places, place.k) / dearest : f && !(placed && wholeRun && f.places) ? cost(f) / most : 0;
      return el('div', { class: 'l' + (first.length ? ' first' : '') + (i === line && !quietly ? ' at' : ''), 'data-line': i },
        el('span', { class: 'gutter' }, label), el('span', { class: 'stripe', css: f ? { background: `color-mix(in srgb, var(--hot) ${Math.round(15 + 85 * part)}%, transparent)` } : {} }),
        placed && wholeRun ? placeCell(i, place, first) : '',
        el('span', { class: 'no' }, String(i)), el('span', { class: 't' }, lines[i - 1] || '\u200b'));
    };
    const all = shownLines(lines, spans, state.lines === 'all');
    const rest = (from) => {
      if (turn !== turns) return;
      const part = all.slice(from, from + chunkLines);
      code.append(...part.map(row));
      const at = line && part.includes(line) ? code.querySelector(`[data-line="${line}"]`) : null;
      if (at) code.scrollTop = at.offsetTop - 60;
      if (from + chunkLines < all.length) setTimeout(rest, 0, from + chunkLines);
      else code.dataset.lines = lines.length;
    };
    code.replaceChildren();
    code.scrollTop = 0;
    rest(0);
  }
  const tools = [choice('Lines', [['dear', 'What matters', 'Functions from 1 % of the file’s energy on; the rest is folded'], ['all', 'Whole file']], state.lines, (v) => { state.lines = v; for (const k of files.values()) k.open = []; remember(); draw(); }), pick];
  const out = section('source', 'Source', tools, note, code,
    el('p', { class: 'hint' }, 'Beside the first line of each function stands what it used itself; the stripe along its lines is the darker, the dearer it is. ' + (placed
      ? `Left of a line’s number stand what the ${what} that begins there used itself in the whole run, and how often calls came to it; there the stripe is that of the ${what}. The energy of a function is divided among its ${what}s by time, but where the data show what one of them draws.`
      : 'Energy is known per function, not per line.')));
  out.start = () => {
    cg.redraw.push(() => { if (now && shown(code) && figuresOf(run).part !== drawnPart) draw(); });
    const of = cg.chosen && files.has(cg.chosen.file) ? cg.chosen : null;
    if (now) return; // somebody came by a link to a line
    if (of) show(of.file, of.line); else show(order[0], Math.min(...files.get(order[0]).functions.map((f) => f.line)), true);
  };
  out.show = (file, line) => { if (files.has(file)) show(file, Number(line) || 0); };
  return out;
}
