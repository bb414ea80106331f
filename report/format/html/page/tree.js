// Trees of call paths in columns, and what can be asked of them.
//
// A tree has size nodes, the root is node 0, and a parent comes before its callees.
// kind[i] is the number of a function in kinds, which has { name, file, line }.
// columns holds, by metric, what a node used itself. sum(metric) gives what nodes used
// with all that they called. below(i) gives the nodes below i.
//
// There can be a million nodes: what passes over all of them works on typed arrays.

// treeFrom makes a tree of a list of parents, one of kinds, and columns of metrics. known
// has what was computed of it before: first, order and sums, see below.
function treeFrom(parent, kind, kinds, columns, known) {
  const n = parent.length, sums = known?.sums || {};
  let first = known?.first || null, order = known?.order || null;
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
      if (!sums[metric]) {
        const sum = Float64Array.from(columns[metric]);
        for (let i = n - 1; i > 0; i--) sum[parent[i]] += sum[i];
        sums[metric] = sum;
      }
      return sums[metric];
    },
    at: (metric, i) => t.sum(metric)[i], self: (metric, i) => columns[metric][i],
  };
  t.turned = known?.turned; // byKind, where that was computed before
  t.parents = parent;
  t.kindOf = kind;
  t.known = () => { if (!first) index(); return { first, order, sums }; };
  return t;
}

// folded joins a function that calls itself with its caller: what it used is added up.
function folded(t) {
  const n = t.size, kept = new Uint32Array(n), to = new Uint32Array(n), named = Uint8Array.from(t.kinds, (k) => k.file ? 1 : 0);
  let size = 0;
  for (let i = 0; i < n; i++) {
    const up = t.parents[i], k = t.kindOf[i];
    if (i > 0 && named[k] && k === t.kindOf[up]) to[i] = to[up];
    else { to[i] = size; kept[size++] = i; }
  }
  return size === n ? t : grouped(joined(t, kept.subarray(0, size), to));
}

// grouped joins nodes of one function below one node: what recursion that is folded
// leaves beside each other.
function grouped(t) {
  const n = t.size, many = t.kinds.length, kept = new Uint32Array(n), to = new Uint32Array(n);
  // A table of what is known, by caller and function (open addressing).
  const bits = Math.ceil(Math.log2(2 * n + 2)), room = 2 ** bits, keys = new Float64Array(room).fill(-1), nodes = new Uint32Array(room);
  let size = 0;
  for (let i = 0; i < n; i++) {
    const up = i === 0 ? 0 : to[t.parents[i]], k = t.kindOf[i], key = i === 0 ? n * many : up * many + k;
    let h = (Math.imul(Math.imul(up, 0x9e3779b1) ^ k, 0x85ebca6b) >>> 0) % room;
    while (keys[h] >= 0 && keys[h] !== key) h = h + 1 === room ? 0 : h + 1;
    if (keys[h] < 0) { keys[h] = key; nodes[h] = size; kept[size++] = i; }
    to[i] = nodes[h];
  }
  return size === n ? t : joined(t, kept.subarray(0, size), to);
}

// joined is the tree of the nodes that are kept. to[i] is which of them takes what node i
// used.
function joined(t, kept, to) {
  const columns = Object.fromEntries(Object.entries(t.columns).map(([metric, column]) => {
    const sum = new Float64Array(kept.length);
    for (let i = 0; i < t.size; i++) sum[to[i]] += column[i];
    return [metric, sum];
  }));
  const parent = Int32Array.from(kept, (i) => i === 0 ? -1 : to[t.parents[i]]);
  return treeFrom(parent, Uint32Array.from(kept, (i) => t.kindOf[i]), t.kinds, columns);
}

// byKind sorts the nodes that used something by their function: found has the functions, ends where the nodes of
// each end in sorted, sums by metric what all of them used.
function byKind(t) {
  const n = t.size, used = new Uint8Array(n), count = new Uint32Array(t.kinds.length), list = [];
  for (const column of Object.values(t.columns)) for (let i = 0; i < n; i++) if (column[i] > 0) used[i] = 1;
  for (let i = 0; i < n; i++) if (used[i] && count[t.kindOf[i]]++ === 0) list.push(t.kindOf[i]);
  const found = Uint32Array.from(list), ends = new Uint32Array(found.length), next = new Uint32Array(t.kinds.length);
  let whole = 0;
  found.forEach((k, f) => { next[k] = whole; whole += count[k]; ends[f] = whole; });
  const sorted = new Int32Array(whole);
  for (let i = 0; i < n; i++) if (used[i]) sorted[next[t.kindOf[i]]++] = i;
  const sums = {};
  for (const [metric, column] of Object.entries(t.columns)) {
    const sum = new Float64Array(found.length);
    for (let f = 0, k = 0; f < found.length; f++) for (; k < ends[f]; k++) sum[f] += column[sorted[k]];
    sums[metric] = sum;
  }
  return { found, ends, sorted, sums };
}

// inverted turns a tree over: below each function stand its callers, so that the boxes
// of the first row are what functions used themselves. A node is opened when its callers
// are asked for, since few of them are ever drawn.
function inverted(t) {
  const metrics = Object.keys(t.columns), kind = [t.kindOf[0]], parent = [-1], own = metrics.map((m) => t.columns[m]);
  // A node is a list of pairs: the path that used something, and how far up from it
  // the node stands.
  const first = t.turned || byKind(t), paths = [null], here = [null], opened = [[]];
  const columns = Object.fromEntries(metrics.map((m) => [m, [first.sums[m].reduce((a, b) => a + b, 0)]]));
  first.found.forEach((key, f) => {
    const those = first.sorted.subarray(f > 0 ? first.ends[f - 1] : 0, first.ends[f]);
    opened[0].push(kind.length);
    kind.push(key); parent.push(0); paths.push(those); here.push(those); opened.push(null);
    for (const m of metrics) columns[m].push(first.sums[m][f]);
  });
  const count = new Uint32Array(t.kinds.length), ends = new Uint32Array(t.kinds.length);
  // open sorts the pairs of a node by who stands above them.
  function open(i) {
    const list = paths[i], from = here[i], found = [];
    for (let k = 0; k < list.length; k++) {
      const up = t.parents[from[k]];
      if (up >= 0 && count[t.kindOf[up]]++ === 0) found.push(t.kindOf[up]);
    }
    let whole = 0;
    for (const key of found) { ends[key] = whole; whole += count[key]; }
    const sorted = new Int32Array(whole), above = new Int32Array(whole);
    for (let k = 0; k < list.length; k++) {
      const up = t.parents[from[k]];
      if (up < 0) continue;
      const at = ends[t.kindOf[up]]++;
      sorted[at] = list[k];
      above[at] = up;
    }
    opened[i] = [];
    for (const key of found) {
      const end = ends[key], begin = end - count[key];
      count[key] = 0;
      opened[i].push(kind.length);
      kind.push(key); parent.push(i); paths.push(sorted.subarray(begin, end)); here.push(above.subarray(begin, end)); opened.push(null);
      metrics.forEach((m, which) => {
        const column = own[which];
        let sum = 0;
        for (let k = begin; k < end; k++) sum += column[sorted[k]];
        columns[m].push(sum);
      });
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
