// The page is put together: one run, or a comparison with each run behind a tab.

function single(run) {
  const parts = {};
  const go = {
    flame: (name) => parts.flames?.seek(name),
    source: (file) => Boolean(cg.data.sources?.[file]),
    show: (file, line) => parts.source?.show(file, line),
  };
  parts.power = power(run);
  parts.flames = flames(run);
  parts.source = source(run);
  const all = [headline(run), warnings(run), ledger(run), parts.power, parts.flames, functions(run, go), tests(run), parts.source, details(run)].filter(Boolean);
  return { all, head: about(run) };
}

function comparison(runs, names) {
  const notes = cg.data.problems.length ? el('ul', { class: 'warnings' }, cg.data.problems.map((p) => el('li', {}, el('b', {}, 'different'), ' ', p))) : null;
  return [section('compare', 'Side by side', null, notes, besideTotals(runs, names)), changes(runs, names), difference(runs, names)].filter(Boolean);
}

(function () {
  const { runs, names } = cg.data;
  const page = document.getElementById('page');
  const content = el('div', { id: 'content' });
  const pick = choice('Theme', [['auto', 'Auto', 'as the system'], ['light', 'Light'], ['dark', 'Dark']], 'auto', theme.set);
  pick.id = 'theme';
  const title = runs.length === 1 ? names[0] : names.join(' → ');
  const head = el('div', { id: 'head' });
  page.append(el('header', {}, el('div', {}, el('h1', {}, title), head), pick));

  function put(parts) {
    content.replaceChildren(...parts);
    theme.listeners.length = 0;
    for (const p of parts) p.start?.();
  }
  function pickRun(i) {
    if (i < 0) {
      head.replaceChildren();
      put(comparison(runs, names));
    } else {
      const s = single(runs[i]);
      head.replaceChildren(s.head);
      put(s.all);
    }
  }
  if (runs.length > 1) {
    page.append(choice('Runs', [['-1', 'Comparison'], ...names.map((n, i) => [String(i), n])], '-1', (v) => pickRun(Number(v))));
    page.lastChild.id = 'runs';
  }
  page.append(content);
  pickRun(runs.length > 1 ? -1 : 0);
  document.documentElement.dataset.ready = 'true';
})();
