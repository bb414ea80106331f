package e2e

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const nodeBudgetTests = `
import { test, describe, it } from 'node:test';
import assert from 'node:assert';
import { setTimeout } from 'node:timers/promises';
import { budget, Session } from 'codegreen';

const work = () => setTimeout(50);

test('within', budget('10 kWh', work));
test('above', budget('1 mJ', { runs: 1 }, work));

let runs = 0;
test('repeated', budget('1 mJ', { runs: 3 }, async (t) => {
  runs++;
  assert.match(t.name, /repeated/);
  await work();
}));
test('three runs', () => assert.strictEqual(runs, 3));

describe('suite', () => {
  it('inner', budget('10 kWh', async function (t) {
    await work();
    await t.test('part', work);
  }));
});
test('fails anyway', budget('1 mJ', async () => {
  await work();
  assert.fail('mine');
}));

test('in a session', async (t) => {
  await using_(Session.start('tests', { saveToFile: false }), async (s) => {
    await budget('10 kWh', work)(t);
    s.task('after', () => {});
    assert.throws(() => Session.start('another'), /is active/);
  });
});

async function using_(session, f) {
  await f(session);
  await session.stop();
}

test('beside', { concurrency: 2 }, async (t) => {
  await Promise.all([t.test('left', budget('1 mJ', { runs: 1 }, work)), t.test('right', budget('1 mJ', { runs: 1 }, work))]);
});

test('outer', budget('1 mJ', { runs: 1 }, async (t) => {
  await t.test('nested', budget('1 mJ', { runs: 1 }, work));
}));
test('after nested', budget('10 kWh', work));

test('spoils', (t) => {
  for (const line of ['1 x=<b>', '1 energy_kind="a"', '<1', '1 energy_x=1 y']) t.diagnostic('energy_budget_j=' + line);
});

test('wrong', () => {
  assert.throws(() => budget('2 W', work), /codegreen: "2 W": a budget is a number above 0 and mJ, J,/);
  assert.throws(() => budget('2 J', { runs: 11 }, work), /budget: 11 runs: use 1 to 10/);
  assert.throws(() => budget('2 J'), /give it the test's function/);
  assert.throws(() => budget('2 J', (t, done) => done()), /takes a callback/);
});
`

// nodeWithPackage is a folder with tests and the package for Node, as npm install puts it.
func nodeWithPackage(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	sdk := filepath.Join(dir, "node_modules/codegreen")
	if out, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "sdk", "node", sdk).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type junitProperties struct {
	Name       string `xml:"name,attr"`
	Properties []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	} `xml:"properties>property"`
	Failures []string          `xml:"failure"`
	Cases    []junitProperties `xml:"testcase"`
	Suites   []junitProperties `xml:"testsuite"`
}

// flat are the tests of a report, and what it says of each.
func (j junitProperties) flat(into map[string]map[string]string) {
	of := map[string]string{}
	for _, p := range j.Properties {
		of[p.Name] = p.Value
	}
	into[j.Name] = of
	for _, c := range append(j.Cases, j.Suites...) {
		c.flat(into)
	}
}

// A budget in a test of node:test fails the test whose energy surely exceeds it, and the reporter codegreen/junit has the figures.
func TestNodeBudgets(t *testing.T) {
	t.Parallel()
	need(t, "node", "apt-get install nodejs")
	env, dir := sdkMachine(t), nodeWithPackage(t, map[string]string{"all.test.mjs": nodeBudgetTests})
	cmd := exec.Command("node", "--test", "--test-reporter", "tap", "--test-reporter-destination", "stdout",
		"--test-reporter", "codegreen/junit", "--test-reporter-destination", "junit.xml", "all.test.mjs")
	cmd.Dir, cmd.Env = dir, env
	b, _ := cmd.CombinedOutput()
	out := string(b)
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", cmd.ProcessState, out)
	}
	for _, want := range []string{
		"energy budget: within: within: ", "measured, 1 run; the budget is 10 kWh", "energy budget: exceeded: above: ",
		"the energy budget is exceeded: ", "mean of 3 runs; the budget is 1 mJ", "error: 'mine'", "energy budget: within: suite > inner: ",
		"energy budget: within: in a session: ", "it ran beside other tests, whose energy would be in it",
		"energy budget: not known: outer: a budget lies inside the test of another one",
		"energy budget: not known: outer > nested: a budget lies inside the test of another one", "energy budget: within: after nested: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	for _, test := range []string{"above", "fails anyway"} {
		if !regexp.MustCompile(`(?m)^not ok \d+ - ` + test + "$").MatchString(out) {
			t.Errorf("%s passed", test)
		}
	}
	if t.Failed() || strings.Contains(out, "# codegreen: ") {
		t.Errorf("%s", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var all junitProperties
	if err := xml.Unmarshal(text, &all); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := map[string]map[string]string{}
	all.flat(got)
	for name, want := range map[string]map[string]string{
		"within":     {"energy_verdict": "within", "energy_budget_j": "36000000", "energy_kind": "measured", "energy_runs": "1"},
		"above":      {"energy_verdict": "exceeded", "energy_budget_j": "0.001", "energy_runs": "1"},
		"repeated":   {"energy_budget_j": "0.001", "energy_runs": "3"}, // on a busy machine runs vary too much for a verdict
		"three runs": {}, "fails anyway": {}, "inner": {"energy_verdict": "within"},
		"left": {"energy_verdict": "not known"}, "right": {"energy_verdict": "not known"},
	} {
		if got[name] == nil || len(want) == 0 && len(got[name]) > 0 {
			t.Errorf("%s: %v", name, got[name])
		}
		for property, value := range want {
			if got[name][property] != value {
				t.Errorf("%s: %s is %q, want %q", name, property, got[name][property], value)
			}
		}
	}
	for _, property := range []string{"energy_j", "energy_lo_j", "energy_hi_j"} {
		if got["within"][property] == "" || got["left"][property] != "" {
			t.Errorf("%s: %v, %v", property, got["within"], got["left"])
		}
	}
	// Those of the test that spoils them are no figures.
	if strings.Count(string(text), "energy_budget_j=") != 4 || !strings.Contains(out, "energy_budget_j=") {
		t.Errorf("the figures stand in comments:\n%s", text)
	}
}

// Files that node --test runs at a time have each other's energy, so their budgets are not judged; alone they are. The example
// of docs/budgets.md is one of them.
func TestNodeBudgetsOfFiles(t *testing.T) {
	t.Parallel()
	need(t, "node", "apt-get install nodejs")
	// Each waits for the other, so they surely run at the same time.
	const waits = `
import { test } from 'node:test';
import fs from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { budget } from 'codegreen';
test('of ME', budget('1 mJ', { runs: 1 }, async () => {
  fs.writeFileSync('ME.runs', '');
  while (!fs.existsSync('OTHER.runs')) await setTimeout(5);
  await setTimeout(20);
}));
test('stays', async () => {
  fs.writeFileSync('ME.done', '');
  while (!fs.existsSync('OTHER.done')) await setTimeout(5);
});
`
	env := sdkMachine(t)
	dir := nodeWithPackage(t, map[string]string{
		"a.test.mjs":    strings.NewReplacer("ME", "a", "OTHER", "b").Replace(waits),
		"b.test.mjs":    strings.NewReplacer("ME", "b", "OTHER", "a").Replace(waits),
		"sort.test.mjs": exampleBelow(t, "budgets.md", "## node:test", "js"),
	})
	run := func(want string, args ...string) {
		t.Helper()
		cmd := exec.Command("node", append([]string{"--test", "--test-reporter", "tap"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		says(t, string(out), want)
	}
	run("energy budget: not known: of a: it ran beside other tests", "--test-concurrency=2", "a.test.mjs", "b.test.mjs")
	run("energy budget: within: sort: ", "sort.test.mjs")
}
