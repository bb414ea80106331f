// Reads a trace as chrome://tracing does, with the importer of catapult's Trace-Viewer (npm: traceviewer), and prints
// what is in the model: node trace.js VIEWERS TRACE. The package's own entry asks a script for Python 2 where its parts
// are; they are named here.
'use strict';
const fs = require('fs');
const path = require('path');

const home = path.resolve(process.argv[2], 'node_modules/traceviewer');
require(path.join(home, 'catapult_build/node_bootstrap.js'));
const parts = ['', 'third_party', 'third_party/components', 'third_party/gl-matrix/dist', 'third_party/jszip'];
HTMLImportsLoader.addArrayToSourcePath(parts.map((p) => path.join(home, 'tracing', p)));
for (const name of ['importer/import', 'model/model', 'extras/importer/trace_event_importer']) {
  HTMLImportsLoader.loadHTML(`/tracing/${name}.html`);
}

const model = new tr.Model();
const options = new tr.importer.ImportOptions();
options.showImportWarnings = false;
new tr.importer.Import(model, options).importTraces([fs.readFileSync(process.argv[3], 'utf8')]);

const out = {warnings: model.importWarnings.map((w) => `${w.type}: ${w.message}`), slices: [], counters: []};
for (const p of Object.values(model.processes)) {
  for (const t of Object.values(p.threads)) {
    for (const s of [...t.sliceGroup.slices, ...t.asyncSliceGroup.slices]) {
      out.slices.push({process: p.name || '', thread: t.name || '', name: s.title, start_ms: s.start, duration_ms: s.duration});
    }
  }
  for (const c of Object.values(p.counters)) {
    for (const s of c.series) {
      out.counters.push({process: p.name || '', name: c.name, series: s.name, values: s.samples.map((x) => x.value)});
    }
  }
}
console.log(JSON.stringify(out));
