package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const nodeLedgerProgram = `
const { pbkdf2 } = require('node:crypto')
function collects() { // what stays is marked by threads of V8's
  const live = []
  for (let i = 0; i < 300000; i++) live.push({ i, before: live[i >> 1] })
  for (let i = 0; i < 15; i++) gc()
}
function compiles() { // each of these is compiled when it has run often
  let sum = 0
  for (let k = 0; k < 100; k++) {
    const f = new Function('x', 'let s = 0; for (let i = 0; i < 100; i++) s = (s * 31 + (x ^ i) + ' + k + ') % 1000003; return s')
    for (let i = 0; i < 2000; i++) sum += f(i)
  }
  return sum
}
function waits() {
  return Promise.all(Array.from({ length: 8 }, () => new Promise((done) => pbkdf2('a', 'b', 100000, 64, 'sha512', done))))
}
module.exports = { collects, compiles, waits }[process.argv[2]]()
`

// TestNodeLedger: what V8's threads do, and those of libuv, has lines of its own. Node names these threads from 24 on.
func TestNodeLedger(t *testing.T) {
	node := filepath.Join(os.Getenv("CG_VIEWERS"), "node_modules/node/bin/node")
	if _, err := os.Stat(node); err != nil {
		t.Skip("CG_VIEWERS names no folder with Node 24")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.js"), []byte(nodeLedgerProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	const v8, pool = "garbage collection and JIT compilation", "libuv pool"
	for work, want := range map[string]string{"collects": v8, "compiles": v8, "waits": pool} {
		ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
		defer end()
		cg := exec.CommandContext(ctx, filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "measure", "-g", "fine", "--quiet",
			"-o", "run.json", "--node", node, "node", "--expose-gc", "--v8-pool-size=4", "program.js", work)
		cg.Dir, cg.WaitDelay = dir, 5*time.Second
		if out, err := cg.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", work, err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		var run struct {
			Ledger []struct {
				Name    string  `json:"name"`
				EnergyJ float64 `json:"energy_j"`
			} `json:"ledger"`
		}
		if err := json.Unmarshal(text, &run); err != nil {
			t.Fatal(err)
		}
		lines := map[string]float64{}
		for _, line := range run.Ledger {
			lines[line.Name] = line.EnergyJ
		}
		other := map[string]string{v8: pool, pool: v8}[want]
		if _, is := lines[other]; !is || lines[want] <= lines[other] {
			t.Errorf("%s: %v: less in %q than in %q", work, lines, want, other)
		}
	}
}
