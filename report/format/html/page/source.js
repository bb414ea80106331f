// The source of the program with the energy of each function beside its first
// line and a stripe along its lines. Energy is known per function, not per line.

function source(run) {
  const files = new Map(), m = mark(run);
  const known = run.totals.program_energy_j !== null;
  const cost = (f) => known ? f.self_energy_j : f.self_time_s;
  const words = known ? figure.energy : figure.time;
  for (const f of run.functions) {
    if (!f.file || !cg.data.sources?.[f.file]) continue;
    if (!files.has(f.file)) files.set(f.file, { functions: [], cost: 0 });
    const k = files.get(f.file);
    k.functions.push(f);
    k.cost += cost(f);
  }
  if (!files.size) return null;
  const order = [...files.keys()].sort((a, b) => files.get(b).cost - files.get(a).cost);
  const most = greatest(run.functions.map(cost), 1e-12);
  const ends = new Map(run.sites.map((s) => [s.file + '\0' + s.line + '\0' + s.name, s.end_line]));
  const pick = el('select', { id: 'source-file', 'aria-label': 'File', onchange: () => show(pick.value) },
    order.map((f) => el('option', { value: f }, `${f} · ${(known ? m : '') + text(words(files.get(f).cost))}`)));
  const note = el('p', { class: 'readout' });
  const code = el('div', { class: 'code', id: 'source-code', tabindex: '0', role: 'region', 'aria-label': 'Source' });

  function show(file, line, quietly) {
    const s = cg.data.sources[file];
    pick.value = file;
    note.textContent = s.note || '';
    note.hidden = !s.note;
    const lines = s.text === '' ? [] : s.text.replace(/\r?\n$/, '').split(/\r?\n/);
    const owner = new Array(lines.length + 2).fill(null), starts = new Map();
    const spans = files.get(file).functions.map((f) => ({ f, from: f.line, to: ends.get(f.file + '\0' + f.line + '\0' + f.name) || f.line }));
    spans.sort((a, b) => (b.to - b.from) - (a.to - a.from));
    for (const { f, from, to } of spans) {
      for (let i = from; i <= Math.min(to, lines.length); i++) owner[i] = f;
      if (!starts.has(from)) starts.set(from, []);
      starts.get(from).push(f);
    }
    code.replaceChildren(...lines.map((l, k) => {
      const i = k + 1, f = owner[i], first = starts.get(i) || [];
      const label = first.map((g) => el('span', { class: 'cost', title: `${g.name}: ${m}${text(words(cost(g)))} itself, ${several(g.calls, 'call')}` },
        number(words(cost(g)), known ? m : ''), el('span', { class: 'meter' }, el('span', { css: { width: 100 * cost(g) / most + '%' } }))));
      return el('div', { class: 'l' + (first.length ? ' first' : ''), 'data-line': i },
        el('span', { class: 'gutter' }, label), el('span', { class: 'stripe', css: f ? { background: `color-mix(in srgb, var(--hot) ${Math.round(15 + 85 * cost(f) / most)}%, transparent)` } : {} }),
        el('span', { class: 'no' }, String(i)), el('span', { class: 't' }, l || '\u200b'));
    }));
    if (line) {
      const at = code.querySelector(`[data-line="${Number(line)}"]`);
      if (at) { code.scrollTop = at.offsetTop - 60; at.classList.toggle('at', !quietly); }
    } else code.scrollTop = 0;
  }
  const out = section('source', 'Source', pick, note, code,
    el('p', { class: 'hint' }, 'Beside the first line of each function stands what it used itself; the stripe along its lines is the darker, the dearer it is. Energy is known per function, not per line.'));
  out.start = () => {
    const of = cg.chosen && files.has(cg.chosen.file) ? cg.chosen : null;
    if (of) show(of.file, of.line); else show(order[0], Math.min(...files.get(order[0]).functions.map((f) => f.line)), true);
  };
  out.show = (file, line) => { if (files.has(file)) show(file, line); };
  return out;
}
