// The search: names that words match, a regular expression or, if it is none, a text.
// Capitals do not matter. An expression can take for ever, as (a+)+$ does, so it is tested
// in a worker, which is ended when it takes too long.

const searchLimit = 1000; // milliseconds that an expression has for all names

// matches runs in the worker. It is given texts once, and then expressions; it answers
// with the numbers of the texts that one matches, or with null where it is no expression.
function matches() {
  let texts = [];
  onmessage = ({ data }) => {
    if (data.texts) { texts = data.texts; return; }
    postMessage({ asked: data.asked, begun: true });
    let e;
    try { e = new RegExp(data.expression, 'iu'); } catch { postMessage({ asked: data.asked, found: null }); return; }
    const found = [];
    texts.forEach((w, i) => { if (e.test(w)) found.push(i); });
    postMessage({ asked: data.asked, found });
  };
}

const searcher = {
  worker: null, busy: false, asked: 0, timer: 0, texts: [],
  start() {
    const url = URL.createObjectURL(new Blob([`(${matches})()`], { type: 'text/javascript' }));
    const w = new Worker(url);
    searcher.texts = [...cg.texts];
    w.postMessage({ texts: searcher.texts });
    searcher.worker = w;
  },
  end() { searcher.worker?.terminate(); searcher.worker = null; },
  // ask calls done with the set of texts that an expression matches, or with null and why.
  ask(expression, done) {
    const asked = ++searcher.asked;
    clearTimeout(searcher.timer);
    if (searcher.busy) searcher.end(); // what was asked before is of no use any more
    searcher.busy = true;
    const answer = (found, why) => {
      if (asked !== searcher.asked) return;
      clearTimeout(searcher.timer);
      searcher.busy = false;
      done(found, why);
    };
    try { if (!searcher.worker) searcher.start(); } catch { answer(null, 'this browser allows no worker'); return; }
    searcher.worker.onmessage = ({ data }) => {
      if (data.asked !== asked) return;
      if (data.begun) searcher.timer = setTimeout(() => { searcher.end(); answer(null, `ended after ${searchLimit / 1000} s`); }, searchLimit);
      else answer(data.found && new Set(data.found.map((i) => searcher.texts[i])), 'not a regular expression');
    };
    searcher.worker.onerror = (e) => { e.preventDefault(); searcher.end(); answer(null, 'the expression failed'); };
    searcher.worker.postMessage({ expression, asked });
  },
  forget() { searcher.asked++; clearTimeout(searcher.timer); if (searcher.busy) searcher.end(); searcher.busy = false; },
};

// seek searches all views. Words without a sign of expressions are a text, which is
// found at once.
function seek(words) {
  const s = cg.search, trimmed = words.trim();
  s.words = words;
  searcher.forget();
  const tell = (hits, note) => { s.hits = hits; s.note = note; changedSomething(); };
  if (!trimmed) { tell(null, ''); return; }
  const lower = trimmed.toLowerCase(), has = (w) => Boolean(w) && w.toLowerCase().includes(lower);
  const asText = (kind) => has(kind.name) || has(kind.file);
  if (!/[\\^$.*+?()[\]{}|]/.test(trimmed)) { tell(asText, ''); return; }
  searcher.ask(trimmed, (found, why) => {
    if (found) tell((kind) => found.has(kind.name) || found.has(kind.file), '');
    else tell(asText, why + ': searched as text');
  });
  remember();
}
