// The page is put together: a head that stays, tabs, and what is chosen beside them. A
// view is made when it is first looked at.

// viewsOf are the views of one run: an identifier, a title, what makes its parts, and
// 'paths' where that needs the call paths. One without parts has no tab.
function viewsOf(run, go) {
  return [
    ['overview', 'Overview', () => [headline(run), warnings(run), el('div', { class: 'pair' }, dearest(run, go), el('div', {}, smallFlame(run, go), smallPower(run, go))), ledger(run)]],
    run.paths.size > 0 && ['flames', 'Flame', () => [flames(run)], 'paths'],
    run.samples.t_us?.length > 1 && ['power', 'Timeline', () => [power(run)]],
    run.functions.length && ['functions', 'Functions', () => [functions(run, go)]],
    hasKernels(run) && ['gpu', 'GPU', () => [gpuKernels(run), gpuFunctions(run, go)]],
    run.tasks.length > 1 && ['tests', testsTitle(run), () => [tests(run), taskGpus(run), unitsOfWork(run), gauges(run)]],
    run.functions.some((f) => cg.data.sources?.[f.file]) && ['source', 'Source', () => [go.code = source(run)]],
    ['details', 'Details', () => [details(run)]],
  ].filter(Boolean);
}

function viewsOfSeveral(runs, names) {
  const notes = cg.data.problems.length ? el('ul', { class: 'warnings' }, cg.data.problems.map((p) => el('li', {}, el('b', {}, 'different'), ' ', p))) : null;
  return [
    ['compare', 'Compare', () => [section('compare', 'Side by side', null, notes, besideTotals(runs, names)), changes(runs, names), placeChanges(runs, names)]],
    runs[0].paths.size && runs[runs.length - 1].paths.size && ['difference', 'Flame', () => [difference(runs, names)], 'paths'],
  ].filter(Boolean);
}

const keysOf = [
  ['1 to 9', 'a tab'], ['/', 'search'], ['j, k', 'the next and the previous function, by energy'], ['Escape', 'select nothing'], ['r', 'the whole run, where a part of it was chosen in the timeline'], ['t', 'light, dark, as the system'], ['?', 'this list'],
  ['arrows, Enter, Escape', 'in call paths: move, zoom, show all'], ['arrows, +, −, 0', 'in the timeline: move, zoom, show all'],
];

(function () {
  const { runs, names } = cg.data, page = document.getElementById('page');
  const content = el('div', { id: 'content' }), tabs = el('div', { id: 'tabs', role: 'tablist', 'aria-label': 'Views' });
  const themes = choice('Theme', [['auto', 'Auto', 'as the system'], ['light', 'Light'], ['dark', 'Dark']], 'auto', theme.set);
  themes.id = 'theme';
  const words = el('input', { type: 'search', id: 'search', placeholder: 'Search names', title: 'A regular expression; / goes here', 'aria-label': 'Search the names of functions, files and tests', spellcheck: 'false', autocomplete: 'off' });
  const told = el('span', { class: 'found', id: 'search-found', 'aria-live': 'polite' });
  const aboutRun = el('div', { id: 'head' }), menu = el('span', { id: 'menu' });
  const keys = el('dialog', { id: 'keys', 'aria-label': 'Keys' }, el('h2', {}, 'Keys'), el('dl', {}, keysOf.map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])), el('form', { method: 'dialog' }, el('button', { type: 'submit' }, 'Close')));
  const which = runs.length > 1 ? choice('Runs', [['-1', 'Comparison'], ...names.map((n, i) => [String(i), n])], '-1', (v) => { cg.run = Number(v); cg.range = null; pickRun(); remember(); }) : null;
  if (which) which.id = 'runs';
  page.append(
    el('header', {}, el('div', {}, el('h1', { title: names.join(' → ') }, runs.length === 1 ? names[0] : names.join(' → ')), aboutRun), themes),
    ...(which ? [which] : []),
    el('nav', { id: 'bar', 'aria-label': 'Views and search' }, tabs, el('div', { class: 'tools' }, told, words, menu, el('button', { type: 'button', id: 'help', 'aria-label': 'Keys', title: 'Keys', onclick: () => keys.showModal() }, '?'))),
    el('div', { id: 'workspace' }, content), keys);

  let views = [], made = new Map(), side = null, bar = null;
  const make = (id) => {
    if (made.has(id)) return made.get(id);
    const [, title, parts, needs] = views.find((v) => v[0] === id), early = needs && !cg.read;
    const flat = early ? [el('p', { class: 'hint' }, 'The call paths are being read.')] : parts().filter(Boolean);
    const box = el('div', { class: 'view', id: 'view-' + id, role: 'tabpanel', 'aria-label': title }, flat);
    made.set(id, box);
    if (early) whenRead(() => { if (made.get(id) !== box) return; box.remove(); made.delete(id); if (cg.tab === id) show(id); });
    content.append(box);
    return box;
  };
  // Parts begin when they are seen first, since they measure the room that they have.
  const begin = (box) => {
    if (box.begun) return;
    box.begun = true;
    for (const e of [...box.children, ...box.querySelectorAll('.pair section')]) e.start?.();
  };
  function show(id) {
    if (!views.some((v) => v[0] === id)) id = views[0][0];
    cg.tab = id;
    const box = make(id);
    for (const [other, b] of made) b.hidden = other !== id;
    for (const b of tabs.children) { b.setAttribute('aria-selected', String(b.dataset.tab === id)); b.tabIndex = b.dataset.tab === id ? 0 : -1; }
    begin(box);
    for (const f of cg.redraw) f();
    remember();
  }
  function pickRun() {
    const run = cg.run >= 0 && cg.run < runs.length ? runs[cg.run] : null;
    cg.redraw.length = cg.prints.length = 0;
    theme.listeners.length = 0;
    made = new Map();
    content.replaceChildren();
    side?.remove();
    side = null;
    const go = {
      tab: show, source: (file) => Boolean(cg.data.sources?.[file]),
      show: (file, line) => { show('source'); go.code.show(file, line); },
    };
    views = run ? viewsOf(run, go) : viewsOfSeveral(runs, names);
    aboutRun.replaceChildren(...(run ? [about(run)] : []));
    menu.replaceChildren(...(run ? [downloads(run)] : []));
    tabs.replaceChildren(...views.map(([id, title]) => el('button', { type: 'button', role: 'tab', 'data-tab': id, 'aria-controls': 'view-' + id, onclick: () => show(id) }, title)));
    cg.redraw.push(() => tell(run));
    bar?.remove();
    bar = cg.timeline = null;
    if (run) {
      bar = partBar(run);
      content.append(bar);
      side = panel(run, go);
      document.getElementById('workspace').append(side);
      side.start();
    } else document.body.classList.remove('choosing');
    which?.press(String(cg.run));
    show(cg.tab);
  }
  let counted = {}; // what was found last: the same is not counted again
  // tell says what the search found in the run, and what that used.
  function tell(run) {
    const { hits, note } = cg.search;
    if (!hits) { told.textContent = ''; return; }
    if (!run) { told.textContent = note; return; }
    const [t] = treesOf(run), metric = run.paths.energy ? 'energy' : 'time';
    if (!t && run.paths.size) { told.textContent = ''; return; } // not read yet
    if (counted.t !== t || counted.hits !== hits) counted = { t, hits, ...(t ? found(t, metric, hits) : { paths: 0, sum: 0 }) };
    const f = counted, whole = t ? t.at(metric, 0) : 0;
    const n = run.functions.filter(hits).length + run.tasks.slice(1).filter((k) => hits({ name: k.name })).length;
    told.textContent = [note, !n && !f.paths ? 'nothing found' : `${n} found, ${metric === 'energy' ? mark(run) : ''}${text(metricFigure[metric](f.sum))}${whole > 0 ? ` (${(100 * f.sum / whole).toFixed(1)} %)` : ''}`].filter(Boolean).join('; ');
  }

  let typing = 0;
  words.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(() => seek(words.value), 80); });
  words.addEventListener('keydown', (e) => { if (e.key === 'Escape') { e.preventDefault(); words.value = ''; seek(''); words.blur(); } });
  const step = (d) => {
    const run = runs[cg.run];
    if (!run) return;
    const cost = (f) => f.self_energy_j ?? f.self_time_s, list = [...run.functions].sort((a, b) => cost(b) - cost(a)), at = list.findIndex((f) => same(f, cg.chosen));
    const next = list[at < 0 ? (d > 0 ? 0 : list.length - 1) : at + d];
    if (next) choose(next);
  };
  document.addEventListener('keydown', (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || keys.open) return;
    const act = {
      '/': () => words.focus(), '?': () => keys.showModal(), Escape: () => choose(null), r: wholeRun, j: () => step(1), k: () => step(-1),
      t: () => { const order = ['auto', 'light', 'dark'], now = document.documentElement.dataset.theme || 'auto'; themes.querySelector(`[data-value="${order[(order.indexOf(now) + 1) % 3]}"]`).click(); },
    }[e.key] || (/^[1-9]$/.test(e.key) && views[e.key - 1] ? () => show(views[e.key - 1][0]) : null);
    if (act) { e.preventDefault(); act(); }
  });
  tabs.addEventListener('keydown', (e) => {
    const at = views.findIndex((v) => v[0] === cg.tab), to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: views.length - 1 }[e.key];
    if (to === undefined || !views[to]) return;
    e.preventDefault();
    show(views[to][0]);
    tabs.children[to].focus();
  });
  // On paper stand the first views, one below the other.
  const sheet = 640; // pixels of the page that A4 and Letter have beside their margins
  addEventListener('beforeprint', () => {
    cg.paper = true;
    for (const id of ['overview', 'flames', 'functions', 'gpu', 'tests', 'compare', 'difference']) {
      if (!views.some((v) => v[0] === id)) continue;
      const box = make(id);
      box.hidden = false;
      begin(box);
    }
    for (const f of cg.redraw) f();
    for (const f of cg.prints) f.print(sheet);
  });
  addEventListener('afterprint', () => { cg.paper = false; for (const f of cg.prints) f.printed(); show(cg.tab); });
  const arrive = () => {
    words.value = address.read();
    if (cg.run === null || !(cg.run < runs.length)) cg.run = runs.length > 1 ? -1 : 0;
    if (runs.length === 1) cg.run = 0;
    pickRun();
    seek(words.value);
  };
  addEventListener('hashchange', arrive);
  arrive();
  document.documentElement.dataset.first = 'true';
  whenRead(() => {
    cg.ready = true;
    changedSomething();
    if (views.some((v) => v[0] === 'difference')) { // takes a worker some time
      const box = make('difference');
      box.hidden = cg.tab !== 'difference';
      begin(box);
    }
    document.documentElement.dataset.ready = 'true';
  });
  setTimeout(read);
})();
