// Trees of call paths in columns, and what can be asked of them.
//
// A tree has size nodes, the root is node 0, and a parent comes before its callees.
// kind[i] is the number of a function in kinds, which has { name, file, line }.
// columns holds, by metric, what a node used itself. sum(metric) gives what nodes used
// with all that they called. below(i) gives the nodes below i.

// treeFrom makes a tree of a list of parents, one of kinds, and columns of metrics.
function treeFrom(parent, kind, kinds, columns) {
  const n = parent.length, sums = new Map();
  let first = null, order = null;
  // The callees of a node stand together in order, from first[i] on.
  function index() {
    first = new Uint32Array(n + 1);
    for (let i = 1; i < n; i++) first[parent[i] + 1]++;
    for (let i = 0; i < n; i++) first[i + 1] += first[i];
    order = new Uint32Array(Math.max(0, n - 1));
    const next = first.slice(0, n);
    for (let i = 1; i < n; i++) order[next[parent[i]]++] = i;
  }
  const t = {
    size: n, kinds, columns, kind: (i) => kind[i], parent: (i) => parent[i],
    name: (i) => kinds[kind[i]].name, file: (i) => kinds[kind[i]].file, line: (i) => kinds[kind[i]].line,
    below(i) { if (!first) index(); return order.subarray(first[i], first[i + 1]); },
    sum(metric) {
      if (!sums.has(metric)) {
        const sum = Float64Array.from(columns[metric]);
        for (let i = n - 1; i > 0; i--) sum[parent[i]] += sum[i];
        sums.set(metric, sum);
      }
      return sums.get(metric);
    },
    at: (metric, i) => t.sum(metric)[i], self: (metric, i) => columns[metric][i],
  };
  t.parents = parent;
  t.kindOf = kind;
  return t;
}

// kindsOf gives functions numbers by name and file.
function kindsOf() {
  const kinds = [], numbers = new Map();
  return { kinds, number(name, file, line) {
    const key = name + '\0' + file;
    let k = numbers.get(key);
    if (k === undefined) { k = kinds.length; numbers.set(key, k); kinds.push({ name, file, line }); }
    return k;
  } };
}

// treeOf reads the paths of a run.
function treeOf(run) {
  const p = run.paths, n = p.parent.length, all = kindsOf();
  const sites = new Map(run.sites.map((s) => [s.id, all.number(s.name, s.file, s.line)]));
  const kind = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    if (i === 0) kind[i] = all.number(p.program, '', 0);
    else if (p.task[i] !== undefined) kind[i] = all.number(p.task[i], '', 0);
    else kind[i] = sites.get(p.site[i]) ?? all.number(p.site[i] === 0 ? '(further calls)' : '(unknown)', '', 0);
  }
  const scaled = (list) => Float64Array.from(list, (v) => v * 1e-6);
  const columns = { time: scaled(p.self_us), cpu: scaled(p.cpu_us), calls: Float64Array.from(p.calls) };
  if (p.self_uj) columns.energy = scaled(p.self_uj);
  return treeFrom(Int32Array.from(p.parent), kind, all.kinds, columns);
}

// folded joins a function that calls itself with its caller: what it used is added up.
function folded(t) {
  const kept = [], to = new Uint32Array(t.size);
  for (let i = 0; i < t.size; i++) {
    const recursive = i > 0 && t.file(i) && t.kind(i) === t.kind(t.parent(i));
    to[i] = recursive ? to[t.parent(i)] : kept.push(i) - 1;
  }
  return kept.length === t.size ? t : grouped(joined(t, kept, to));
}

// grouped joins nodes of one function below one node: what recursion that is folded
// leaves beside each other.
function grouped(t) {
  const kept = [], to = new Uint32Array(t.size), known = new Map();
  for (let i = 0; i < t.size; i++) {
    const key = i === 0 ? -1 : to[t.parent(i)] * t.kinds.length + t.kind(i);
    if (!known.has(key)) known.set(key, kept.push(i) - 1);
    to[i] = known.get(key);
  }
  return kept.length === t.size ? t : joined(t, kept, to);
}

// joined is the tree of the nodes that are kept. to[i] is which of them takes what node i
// used.
function joined(t, kept, to) {
  const columns = Object.fromEntries(Object.entries(t.columns).map(([metric, column]) => {
    const sum = new Float64Array(kept.length);
    for (let i = 0; i < t.size; i++) sum[to[i]] += column[i];
    return [metric, sum];
  }));
  const parent = Int32Array.from(kept, (i) => i === 0 ? -1 : to[t.parent(i)]);
  return treeFrom(parent, Uint32Array.from(kept, (i) => t.kind(i)), t.kinds, columns);
}

// inverted turns a tree over: below each function stand its callers, so that the boxes
// of the first row are what functions used themselves. A node is opened when its callers
// are asked for, since few of them are ever drawn.
function inverted(t) {
  const metrics = Object.keys(t.columns), kind = [t.kind(0)], parent = [-1];
  const used = [];
  for (let i = 0; i < t.size; i++) if (metrics.some((m) => t.columns[m][i] > 0)) used.push(i);
  // A node is a list of pairs: the path that used something, and how far up from it
  // the node stands.
  const paths = [Int32Array.from(used)], here = [null], opened = [null];
  const columns = Object.fromEntries(metrics.map((m) => [m, [t.columns[m].reduce((a, b) => a + b, 0)]]));
  function open(i) {
    const found = new Map();
    for (let k = 0; k < paths[i].length; k++) {
      const up = here[i] ? t.parent(here[i][k]) : paths[i][k];
      if (up < 0) continue;
      const key = t.kind(up);
      let at = found.get(key);
      if (!at) found.set(key, at = { paths: [], here: [] });
      at.paths.push(paths[i][k]);
      at.here.push(up);
    }
    opened[i] = [];
    for (const [key, at] of found) {
      const node = kind.length;
      kind.push(key); parent.push(i); paths.push(Int32Array.from(at.paths)); here.push(Int32Array.from(at.here)); opened.push(null);
      for (const m of metrics) columns[m].push(at.paths.reduce((sum, p) => sum + t.columns[m][p], 0));
      opened[i].push(node);
    }
  }
  return {
    get size() { return kind.length; },
    kinds: t.kinds, columns, kind: (i) => kind[i], parent: (i) => parent[i],
    name: (i) => t.kinds[kind[i]].name, file: (i) => t.kinds[kind[i]].file, line: (i) => t.kinds[kind[i]].line,
    below(i) { if (!opened[i]) open(i); return opened[i]; },
    at: (metric, i) => columns[metric][i], self: (metric, i) => columns[metric][i],
  };
}

// found sums what the paths used in which a function is that hits says yes to, with all
// that they called, each once: { paths, sum }.
function found(t, metric, hits) {
  const yes = Uint8Array.from(t.kinds, (k) => hits(k) ? 1 : 0), under = new Uint8Array(t.size), sum = t.sum(metric);
  let paths = 0, whole = 0;
  for (let i = 0; i < t.size; i++) {
    const inside = i > 0 && under[t.parents[i]], hit = yes[t.kindOf[i]];
    if (hit) { paths++; if (!inside) whole += sum[i]; }
    under[i] = hit || inside ? 1 : 0;
  }
  return { paths, sum: whole };
}

// around gives the callers and the callees of a function, each with what the function
// used when called by it, and what it used when the function called it. A call within a
// call of the same function is part of the outer one.
function around(t, metric, kind) {
  const sum = t.sum(metric), callers = new Map(), callees = new Map(), under = new Uint8Array(t.size);
  for (let i = 0; i < t.size; i++) {
    const up = t.parents[i], inside = i > 0 && under[up], here = t.kindOf[i] === kind;
    under[i] = here || inside ? 1 : 0;
    if (here && !inside && i > 0) callers.set(t.kindOf[up], (callers.get(t.kindOf[up]) || 0) + sum[i]);
    if (!here && i > 0 && t.kindOf[up] === kind) callees.set(t.kindOf[i], (callees.get(t.kindOf[i]) || 0) + sum[i]);
  }
  const list = (m) => [...m].map(([k, v]) => ({ ...t.kinds[k], sum: v })).sort((a, b) => b.sum - a.sum);
  return { callers: list(callers), callees: list(callees) };
}
