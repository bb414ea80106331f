// What ran on GPUs: kernels and copies, and the functions that launched them.

// hasKernels says whether it is known what ran on GPUs.
function hasKernels(run) { return Boolean(run.gpus?.kernels?.length); }

function gpuKernels(run) {
  const all = run.gpus.kernels, m = mark(run), known = all.some((k) => k.energy_j !== null);
  const most = greatest(all.map((k) => k.energy_hi_j || 0), 0), several = new Set(all.map((k) => k.domain)).size > 1;
  const columns = [
    { key: 'name', head: 'Kernel', text: true, value: (k) => k.name, cell: (k) => el('div', { class: 'function' }, el('span', { class: 'name' }, parted(k.name)), k.kind === 'kernel' ? null : el('small', {}, k.kind)) },
    several && { key: 'gpu', head: 'GPU', text: true, value: (k) => k.domain, cell: (k) => k.domain },
    { key: 'runs', head: 'Runs', value: (k) => k.runs, cell: (k) => number(figure.count(k.runs)) },
    known && { key: 'energy', head: 'Energy', title: 'above idle', value: (k) => k.energy_j, cell: (k) => number(figure.energy(k.energy_j), m) },
    known && { key: 'interval', head: 'Interval', class: 'wide', value: (k) => k.energy_hi_j, cell: (k) => el('span', { title: range(k.energy_lo_j, k.energy_hi_j) }, interval(k.energy_lo_j, k.energy_j, k.energy_hi_j, most)) },
    known && { key: 'power', head: 'Power', class: 'extra', title: 'above idle, while it ran', value: (k) => k.avg_power_w, cell: (k) => number(figure.power(k.avg_power_w), k.avg_power_w === null ? '' : m) },
    { key: 'time', head: 'Time', title: 'on the GPU', value: (k) => k.time_s, cell: (k) => number(figure.time(k.time_s)) },
    { key: 'by', head: 'Launched by', class: 'left extra', text: true, value: (k) => k.launched_by[0], cell: (k) => el('span', { class: 'name', title: k.launched_by.join('\n') }, parted(k.launched_by[0] || ''), k.launched_by.length > 1 ? el('small', {}, ` and ${k.launched_by.length - 1} more`) : null) },
  ].filter(Boolean);
  const t = sortable('kernels', all, columns, { sort: known ? 'energy' : 'time', words: (k) => [k.name, ...k.launched_by] });
  const between = run.gpus.between_kernels_j;
  const out = section('kernels', 'On GPUs, by kernel', t.counted, t.table, t.more,
    known && between !== undefined && between !== null ? el('p', { class: 'hint' }, `Between kernels the program used ${m}${text(figure.energy(between))}.`) : null,
    run.gpus.unrecorded ? el('p', { class: 'hint' }, `${figure.count(run.gpus.unrecorded)[0]} kernels and copies have no record.`) : null);
  out.start = t.draw;
  return out;
}

function gpuFunctions(run, go) {
  const all = run.gpus.functions || [], m = mark(run), known = all.some((f) => f.self.energy_j !== null);
  if (!all.length) return null;
  const most = greatest(all.map((f) => f.self.energy_hi_j || 0), 0);
  const at = (f) => f.file ? functionOf(run, f.name, f.file, f.line) : null;
  const columns = [
    { key: 'name', head: 'Function', text: true, value: (f) => f.name, cell: (f) => el('div', { class: 'function' },
      at(f) ? el('button', { type: 'button', class: 'name', title: 'Select it in all views', onclick: () => choose(f) }, parted(f.name)) : el('span', { class: 'name' }, parted(f.name)),
      f.file ? (go.source(f.file) ? el('button', { type: 'button', class: 'where', title: f.file, onclick: () => go.show(f.file, f.line) }, `${base(f.file)}:${f.line}`) : el('small', { class: 'where', title: f.file }, `${base(f.file)}:${f.line}`)) : null) },
    { key: 'launches', head: 'Launches', title: 'by itself', value: (f) => f.launches, cell: (f) => number(figure.count(f.launches)) },
    known && { key: 'self', head: 'Self', title: 'of what it launched itself', value: (f) => f.self.energy_j, cell: (f) => number(figure.energy(f.self.energy_j), m) },
    known && { key: 'interval', head: 'Interval of self', class: 'wide', value: (f) => f.self.energy_hi_j, cell: (f) => el('span', { title: range(f.self.energy_lo_j, f.self.energy_hi_j) }, interval(f.self.energy_lo_j, f.self.energy_j, f.self.energy_hi_j, most)) },
    known && { key: 'inclusive', head: 'Inclusive', title: 'with what functions that it called launched', value: (f) => f.inclusive.energy_j, cell: (f) => number(figure.energy(f.inclusive.energy_j), m) },
    { key: 'time', head: 'Self time', title: 'on the GPU', value: (f) => f.self_time_s, cell: (f) => number(figure.time(f.self_time_s)) },
    { key: 'total', class: 'extra', head: 'Time', title: 'on the GPU, with what functions that it called launched', value: (f) => f.inclusive_time_s, cell: (f) => number(figure.time(f.inclusive_time_s)) },
  ].filter(Boolean);
  const t = sortable('gpufunctions', all, columns, { sort: known ? 'self' : 'time', words: (f) => [f.name, f.file], of: at });
  const out = section('gpufunctions', 'On GPUs, by function', t.counted, t.table, t.more);
  out.start = t.draw;
  return out;
}

// taskGpus is whose the energy of GPUs was in the tasks of a session.
function taskGpus(run) {
  const all = run.tasks.slice(1).flatMap((t) => (t.gpus || []).map((g) => ({ task: t.name, ...g })));
  if (!all.length) return null;
  const m = mark(run), most = greatest(all.map((g) => g.program_energy_hi_j || 0), 0);
  const energy = (v) => number(figure.energy(v), v === null ? '' : m);
  const columns = [
    { key: 'task', head: 'Task', text: true, value: (g) => g.task, cell: (g) => el('div', { class: 'function' }, el('span', { class: 'name' }, parted(g.task))) },
    { key: 'gpu', head: 'GPU', text: true, value: (g) => g.domain, cell: (g) => g.domain },
    { key: 'method', head: 'Method', class: 'left extra', text: true, value: (g) => g.gpu_method, cell: (g) => g.gpu_method },
    { key: 'program', head: 'Program', title: 'what the task has of the GPU', value: (g) => g.program_energy_j, cell: (g) => energy(g.program_energy_j) },
    { key: 'interval', head: 'Interval', class: 'wide', value: (g) => g.program_energy_hi_j, cell: (g) => el('span', { title: range(g.program_energy_lo_j, g.program_energy_hi_j) }, interval(g.program_energy_lo_j, g.program_energy_j, g.program_energy_hi_j, most)) },
    { key: 'others', head: 'Others', class: 'extra', value: (g) => g.other_processes_j, cell: (g) => energy(g.other_processes_j) },
    { key: 'idle', head: 'Idle', class: 'extra', value: (g) => g.idle_j, cell: (g) => energy(g.idle_j) },
    { key: 'nobodys', head: 'Nobody’s', class: 'extra', value: (g) => g.unattributed_j, cell: (g) => el('span', { title: g.reason }, energy(g.unattributed_j)) },
  ];
  const t = sortable('taskgpus', all, columns, { sort: 'program', words: (g) => [g.task, g.domain] });
  const out = section('taskgpus', 'On GPUs, by task', t.counted, t.table, t.more);
  out.start = t.draw;
  return out;
}
