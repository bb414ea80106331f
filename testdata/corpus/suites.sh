#!/bin/sh
# suites.sh [PYTHON]: runs CPython's own tests of 19 modules as they are and with
# every function of the standard library instrumented (the tests are not), and
# fails if a test that passed does not pass then.
#
#   CG=path     the cg to use; built from this tree otherwise
#   TESTS=...   other tests than the ones below
set -eu

python=${1:-python3}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cg=${CG:-$work/cg}
[ -x "$cg" ] || (cd "$here/../.." && go build -o "$cg" .)
tests=${TESTS:-test_json test_re test_dataclasses test_asyncio.test_tasks test_asyncio.test_futures test_asyncio.test_locks
	test_asyncio.test_queues test_argparse test_textwrap test_csv test_decimal test_collections test_contextlib
	test_functools test_inspect test_generators test_coroutines test_asyncgen test_traceback}

"$python" -c 'import test.regrtest' || { echo "suites.sh: $python carries no tests" >&2; exit 1; }
cd "$work"
"$python" -m test -v --junit-xml "$work/plain.xml" $tests >plain.log 2>&1 || true
export XDG_CACHE_HOME="$work/cache"
"$cg" measure python --python "$python" -g fine --include '*/lib/python3*/*' --exclude '*/test/*' --output "$work/run.json" \
	-- -m test -v --junit-xml "$work/woven.xml" $tests >woven.log 2>&1 || true

"$python" - "$here/suites.allow" <<'END'
import json, sys
import xml.etree.ElementTree as tree


def results(name):
    out = {}
    for case in tree.parse(name).iter("testcase"):
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.get("result") == "skipped" or case.find("skipped") is not None
        out[case.get("name")] = "failed" if bad is not None else "skipped" if skipped else "passed", bad
    return out


plain, woven = results("plain.xml"), results("woven.xml")
allowed = [line.split("#")[0].strip() for line in open(sys.argv[1])]
allowed = [line for line in allowed if line]
table = {}
for name in plain:
    suite = next((p for p in name.split(".") if p.startswith("test_") and p != "test_asyncio"), "documentation")
    row = table.setdefault(suite, [0, 0, 0, 0])
    row[0] += plain[name][0] == "passed"
    row[1] += plain[name][0] == "failed"
    row[2] += name in woven and woven[name][0] == "passed"
    row[3] += name in woven and woven[name][0] == "failed"
print("%-18s %15s %19s" % ("Python " + sys.version.split()[0], "plain", "instrumented"))
print("%-18s %7s %7s %10s %8s" % ("", "passed", "failed", "passed", "failed"))
for suite in sorted(table):
    print("%-18s %7d %7d %10d %8d" % (suite, *table[suite]))
print("%-18s %7d %7d %10d %8d" % ("all", *map(sum, zip(*table.values()))))
new = [n for n in plain if plain[n][0] == "passed" and (n not in woven or woven[n][0] != "passed")]
bad = [n for n in new if not any(a in n for a in allowed)]
for name in new:
    print("allowed" if name not in bad else "NEW", name)
    if name in bad and name in woven and woven[name][1] is not None:
        print(woven[name][1].text or woven[name][1].get("message"))
run = json.load(open("run.json"))
print("instrumented: %d functions called, %d calls" % (len(run["functions"]), sum(f["calls"] for f in run["functions"])))
sys.exit(bool(bad) or not woven)
END
