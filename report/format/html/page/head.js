// The headline, what there is to know about the run, the ledger.

function headline(run) {
  const t = run.totals, m = mark(run);
  const known = t.energy_j !== null, shared = t.program_energy_j !== null;
  const fact = (label, value, note) => el('div', {}, el('dt', {}, label), el('dd', {}, value, note ? el('small', {}, note) : null));
  const p = run.process;
  const session = run.meta.tool === 'codegreen.Session';
  const status = p.signal ? p.signal : String(p.exit_status);
  return el('section', { id: 'headline', 'aria-label': session ? 'Energy of the tasks' : 'Energy of the program' },
    el('div', { class: 'big' },
      el('div', { class: 'label' }, session ? 'Energy of the tasks ' : 'Energy of the program ', badge(t.energy_kind)),
      el('div', { class: 'value' }, shared ? number(figure.energy(t.program_energy_j), m) : '?'),
      shared ? interval(t.program_energy_lo_j, t.program_energy_j, t.program_energy_hi_j, t.program_energy_hi_j * 1.1) : null,
      el('div', { class: 'note' }, known && !shared ? 'only GPUs are measured, and nothing tells whose their energy is' : known
        ? [[range(t.program_energy_lo_j, t.program_energy_hi_j, 'and')].filter(Boolean).map((r) => `between ${r} · `), kinds[t.energy_kind][1]]
        : kinds[t.energy_kind][1]),
      sentence(run) ? el('p', { class: 'sentence', id: 'sentence' }, sentence(run)) : null),
    el('dl', { class: 'facts' },
      session ? null : fact('Machine', known ? number(figure.energy(t.energy_j), m) : '?', known ? range(t.energy_lo_j, t.energy_hi_j) : null),
      fact('Time', number(figure.time(t.wall_duration_s))),
      fact('Power of the machine', number(figure.power(t.avg_power_w), t.avg_power_w === null ? '' : m)),
      session ? fact('Tasks', number(figure.count(run.tasks.length - 1))) : null,
      session ? null : fact('Processor time', number(figure.time(p.user_s + p.system_s))),
      session ? null : fact(run.sampled ? 'Functions seen' : 'Functions called', number(figure.count(run.functions.length)), run.tasks.length > 1 ? several(run.tasks.length - 1, run.task_word) : null),
      session ? null : fact('Exit status', el('span', { class: p.exit_status === 0 ? '' : 'bad' }, status), p.timed_out ? 'ended by --timeout' : null)),
    (run.footprint_lines || []).map(([name, words]) => el('p', { class: 'footprint' }, el('b', {}, name), ' ', words)),
    run.hours_line ? el('p', { class: 'footprint', id: 'hours' }, el('b', {}, 'Hours'), ' ', run.hours_line) : null,
    run.state_line ? el('p', { class: 'footprint', id: 'state' }, el('b', {}, 'Machine state'), ' ', run.state_line) : null);
}

function quoted(word) { return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'"; }

function about(run) {
  const m = run.meta;
  const when = m.started_at_local ? m.started_at_local.slice(0, 19).replace('T', ' ') : '';
  return el('div', { class: 'about' },
    el('code', { class: 'command' }, m.argv.map(quoted).join(' ')),
    el('p', {}, [m.hostname, m.cpu_model, when, run.totals.energy_source].filter(Boolean).join(' · ')));
}

// prose shows a paragraph of the documents: what stands in backticks is code.
function prose(s) {
  return s.split('`').map((part, i) => i % 2 ? el('code', {}, part) : part);
}

// warnings are a count that unfolds.
function warnings(run) {
  if (!run.warnings.length) return null;
  return el('section', { id: 'warnings', 'aria-label': 'Warnings' }, el('details', {}, el('summary', {}, several(run.warnings.length, 'warning'), el('small', {}, run.warnings.map((w) => w.slug).join(', '))),
    el('ul', { class: 'warnings' }, run.warnings.map((w) => el('li', {}, el('b', {}, w.slug), ' ', w.message,
      cg.data.advice[w.slug] ? el('details', {}, el('summary', {}, 'What it means, and what to do'), el('p', {}, prose(cg.data.advice[w.slug]))) : null)))));
}

const ledgerClass = {
  functions: 'l1', uninstrumented: 'l2', 'other processes': 'l3', idle: 'l4', cg: 'l5', checkpoints: 'l7', unattributed: 'l6', 'program on GPUs': 'l8',
};
const ledgerTitle = {
  functions: 'the sum of the self energies of functions',
  uninstrumented: 'the program outside functions with checkpoints: start-up of the interpreter, other threads and processes',
  'other processes': 'all other processes of the machine during the run',
  idle: 'what the machine draws when idle',
  cg: 'cg itself: sampling and instrumenting',
  checkpoints: 'the code that cg put where functions begin and end; counted for no function',
  'program on GPUs': 'what the program used of GPUs, as their drivers tell; not told apart by function',
  unattributed: 'energy of GPUs of which nothing tells whose it is, and of no known time: a reading at the end failed',
};
// How idle power was found.
const idleFrom = {
  model: 'from the model of the estimate', baseline: 'measured before the run',
  before: 'measured before the run, when the machine was idle', run: 'measured in the run, while the processors were nearly idle',
  remembered: 'measured on this machine in an earlier run', bound: 'the least that the machine was seen to draw',
  published: 'the share of full power that servers of its age draw',
};

// classOf is the colour of a line of the ledger.
function classOf(name) { return ledgerClass[name] || 'l8'; }

function ledgerBar(run) {
  const total = run.totals.energy_j;
  const bar = el('div', { class: 'stack', role: 'img', 'aria-label': run.ledger.map((l) => `${l.name} ${l.share_percent.toFixed(1)} %`).join(', ') });
  for (const l of run.ledger) {
    if (l.energy_j > 0) bar.append(el('span', { class: classOf(l.name), title: `${l.name}: ${text(figure.energy(l.energy_j))}`, css: { flexGrow: l.energy_j / total } }));
  }
  return bar;
}

function ledger(run) {
  if (!run.ledger.length) return null;
  const m = mark(run);
  const row = (l) => el('tr', {}, el('th', { scope: 'row' }, el('span', { class: 'swatch ' + classOf(l.name) }), l.name, el('small', {}, l.source ? `${ledgerTitle[l.name]}: ${idleFrom[l.source]}` : ledgerTitle[l.name])),
    el('td', {}, number(figure.energy(l.energy_j), m)), el('td', {}, number(figure.percent(l.share_percent))));
  return section('ledger', 'Where the energy of the machine went', null, ledgerBar(run),
    el('table', { class: 'ledger' }, el('tbody', {}, run.ledger.filter((l) => l.energy_j > 0 || l.name !== 'unattributed').map(row)),
      el('tfoot', {}, el('tr', {}, el('th', { scope: 'row' }, 'total'), el('td', {}, number(figure.energy(run.totals.energy_j), m)), el('td', {}, number(['100.0', '%']))))));
}

// machineState is what the machine was like before and after the run, where that is known.
function machineState(run) {
  const s = run.machine_state;
  if (!s) return null;
  const plain = (unit, digits) => (v) => v === null || v === undefined ? '?' : `${v.toFixed(digits)}\u00a0${unit}`, bytes = (v) => v === null || v === undefined ? null : (v / 2 ** 30).toFixed(1) + '\u00a0GiB';
  const caps = (c) => Object.keys(c || {}).sort().map((k) => `${k} ${text(figure.power(c[k]))}`).join(', ');
  const line = (name, of, words) => {
    const [a, b] = [s.before, s.after].map((k) => of(k)), said = [a, b].map((v) => v === '' || v === null || v === undefined ? '' : words(v));
    if (!said[0] && !said[1]) return null;
    return el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, said[0] || '?'), el('td', { class: said[0] === said[1] ? 'soft' : '' }, said[1] || '?'));
  };
  const rows = [
    line('temperature', (k) => k.temperature_c, plain('°C', 0)), line('mean clock', (k) => k.frequency_mhz, plain('MHz', 0)), line('governor', (k) => (k.governors || []).join(', '), String),
    line('slowed down for heat', (k) => k.throttle_count, (n) => several(n, 'time')), line('power limits', (k) => caps(k.power_caps_w), String),
    line('processors of the control group', (k) => k.cpu_limit, (v) => String(v)), line('memory of the control group', (k) => k.memory_limit_bytes, bytes), line('processors allowed', (k) => k.cpuset, String), line('processors of the program', (k) => k.cores, String),
    line('memory available', (k) => k.memory_available_bytes, bytes), line('load of the last minute', (k) => k.load_1m, (v) => v.toFixed(2)),
  ].filter(Boolean);
  if (!rows.length) return null;
  return el('table', { class: 'pairs state', id: 'machine-state' }, el('caption', {}, 'State of the machine' + (s.before.virtual_machine ? ', which is a virtual one' : '')),
    el('thead', {}, el('tr', {}, el('th', {}, ''), el('th', { scope: 'col' }, 'before'), el('th', { scope: 'col' }, 'after'))), el('tbody', {}, rows));
}

// threadNames are the names of the first threads that have one.
function threadNames(run) {
  const names = run.thread_names || [], most = 12;
  return names.slice(0, most).join(', ') + (names.length > most ? ` and ${names.length - most} more` : '');
}

function details(run) {
  const m = run.meta, s = run.sampler, c = run.channel, p = run.process, noise = run.totals.noise;
  const line = (name, value) => value === '' || value === null || value === undefined ? null : el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, String(value)));
  const domains = Object.keys(m.domain_topology).sort().map((id) => {
    const d = m.domain_topology[id];
    return `${id} (${d.kind}${d.top_level ? '' : ', a part of another'})`;
  });
  return section('details', 'Details', null,
    el('div', { class: 'columns' },
      el('table', { class: 'pairs' }, el('caption', {}, 'Run'), el('tbody', {},
        line('run', m.run_id), line('started', m.started_at), line('ended', m.ended_at), line('folder', m.cwd), line('language', `${m.language} ${m.language_version}`),
        line('granularity', m.granularity), line('cg', m.cg_version), line('quality', m.measurement_quality))),
      el('table', { class: 'pairs' }, el('caption', {}, 'Machine'), el('tbody', {},
        line('host', m.hostname), line('processor', m.cpu_model), line('kernel', m.kernel), line('source', run.totals.energy_source),
        line('domains', domains.join(', ')), line('processor time by', p.cpu_method), line('most memory', p.max_rss_bytes ? (p.max_rss_bytes / 1048576).toFixed(1) + ' MiB' : null))),
      el('table', { class: 'pairs' }, el('caption', {}, 'Measuring'), el('tbody', {},
        line('samples', text(figure.count(s.samples))), line('every', s.interval_ms + ' ms'), line('late', text(figure.count(s.missed_deadlines))), line('gaps', s.gaps),
        run.idle_power ? line('idle power', `${mark(run)}${text(figure.power(run.idle_power.power_w))}, ${text(figure.power(run.idle_power.power_lo_w))} to ${text(figure.power(run.idle_power.power_hi_w))}, ${idleFrom[run.idle_power.idle_method]}`) : null,
        run.baseline ? line('before the run', Object.entries(run.baseline.domains).filter(([, d]) => d.top_level).map(([id, d]) => `${id} ${text(figure.power(d.power_w))}`).join(', ') + (run.baseline.idle ? ', idle' : ', not idle')) : null,
        noise && noise.power_cv_percent !== null ? line('power of the machine', `${mark(run)}${text(figure.power(noise.power_mean_w))} ± ${text(figure.percent(noise.power_cv_percent))}`) : null,
        noise ? line('noise', noise.quality === null ? '?' : noise.quality) : null,
        noise ? line('samples missing', `${noise.samples_expected - noise.samples_captured} of ${noise.samples_expected}`) : null,
        line('real-time sampler', s.realtime ? 'yes' : 'no'), line('checkpoints', text(figure.count(c.events))), line('lost', c.lost), c.cost ? line('a checkpoint takes', `${c.cost.event_ns.toFixed(0)} ns`) : null, line('threads', [c.threads, threadNames(run)].filter(Boolean).join(': ')),
        line('runtime', c.native ? 'native' : 'pure'), line('cg\u2019s processor time', text(figure.time(s.own_cpu_s)))))),
    machineState(run),
    run.functions.some((f) => f.file) && !run.functions.some((f) => cg.data.sources?.[f.file]) ? el('p', { class: 'hint', id: 'no-source' }, 'The source of the functions is not in this page: ', el('code', {}, 'cg measure --keep-source'), ' keeps it in a report, ', el('code', {}, 'cg report --with-source'), ' reads it where the program is.') : null,
    run.skipped.length ? el('details', {}, el('summary', {}, `${run.skipped.length} files or functions without checkpoints`),
      el('ul', { class: 'skipped' }, run.skipped.map((k) => el('li', {}, el('code', {}, k.file), ' ', k.reason)))) : null);
}
