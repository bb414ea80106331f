// Counts the events of a pause (checkpoint/FORMAT.md, Counted events) in JavaScript, as runtimes/native/quick.h does. In a
// pause the addon hands the thread over (runtimes/native/node_counting.h). Every event that is not simple goes to the
// addon: one that is timed, a path that is new, a sample that has come.
//
// What the compiler is to take for constant is constant here: each thread makes these functions once. They are short, so
// that it puts them into the functions that call them. Masks show it that no index is beyond what there is.
'use strict';

// In enter and exit numbers stand as they are: a name for each would make them too long for the compiler. They count 32
// bits each, and are
//
//   of the box B     0 event, 3 left, 5 epoch, 6 sure, 7 last, 8 depth
//   of a node T      0 site, 2 child, 3 its site, 4 calls, 12 usual; a node has 48
//   of the header H  64 epoch; of the first page P of the tree 32 place
//   of the stack S and the nodes: 1023 and 16383 are the last
//
// as runtimes/native/node_counting.h and layout.h lay them out.
const EVENT = 0, NODE = 2, LISTED = 9, TASKS = 10; // of the box
const DEEPEST = 1024, NODES = 16384;
const STACK = TASKS + 64, LIST = STACK + DEEPEST, COUNTED = LIST + NODES;

const CACHED = 4096; // paths that are kept besides the latest of each node

/** The checkpoints enter and exit of this thread. views: what counting() of the addon gives. event: the addon's. */
function countingIn(views, box, known, event) {
  const B = new Int32Array(box), S = new Int32Array(box, STACK * 4, DEEPEST);
  const C = new Int32Array(box, COUNTED * 4, NODES), L = new Int32Array(box, LIST * 4, NODES);
  const H = new Int32Array(views.head), P = new Int32Array(views.tree, 0, 33);
  const T = new Int32Array(views.tree, views.nodes);
  const tops = new Int32Array(CACHED).fill(-1), sites = new Int32Array(CACHED), found = new Int32Array(CACHED);

  /** The node of a call that is not the latest of its caller; NODES where the addon has to do it. */
  function search(top, site) {
    const at = (top * 31 + site) & (CACHED - 1);
    if (tops[at] === top && sites[at] === site) return found[at];
    B[EVENT] = site;
    B[NODE] = top;
    known();
    const node = B[NODE];
    if (node < 0 || node >= NODES) return NODES;
    tops[at] = top;
    sites[at] = site;
    return (found[at] = node);
  }

  function note(top) {
    L[B[LISTED]++ & (NODES - 1)] = top;
  }

  function enter(site) {
    const depth = B[8] & 1023, top = S[depth] & 16383, caller = top * 48;
    if (B[3] !== 0 && H[64] === B[5] && depth !== 1023) {
      const node = T[caller + 3] === site ? T[caller + 2] : search(top, site);
      const callee = (node & 16383) * 48, calls = (T[callee + 4] + 1) | 0;
      if (node >>> 0 < 16384 && T[callee + 12] - 1 >>> 0 < B[6] >>> 0 && calls !== 0) {
        T[callee + 4] = calls;
        P[32] = B[7] | node;
        S[depth + 1] = node;
        B[8] = depth + 1;
        B[3]--;
        if (C[top]++ === 0) note(top);
        return;
      }
    }
    B[0] = site;
    event();
  }

  function exit(site) {
    const depth = B[8] & 1023, top = S[depth] & 16383, n = top * 48;
    if (B[3] !== 0 && H[64] === B[5] && depth !== 0 && T[n] === site && T[n + 12] - 1 >>> 0 < B[6] >>> 0) {
      P[32] = B[7] | S[depth - 1];
      B[8] = depth - 1;
      B[3]--;
      if (C[top]++ === 0) note(top);
      return;
    }
    B[0] = 2097152 | site;
    event();
  }

  return { enter, exit };
}

module.exports = { countingIn, TASKS };
