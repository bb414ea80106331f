#!/usr/bin/env bash
# Builds and tests commons-lang3 with Maven, as it is and measured with
# cg measure java --project: the tests must end alike, the sources stay as they
# were, and every test that ran is a task. It needs a JDK, Maven and Maven Central; it takes some minutes.
# usage: java_project.sh [FOLDER]   keeps what it makes in FOLDER
# LANG3_TESTS: the tests, as Surefire's -Dtest takes them. CG_FLAGS: -g fine by default.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
version=3.17.0
central=https://repo1.maven.org/maven2/org/apache/commons/commons-lang3/$version/commons-lang3-$version
# Tests of timing and of threads are unsteady by themselves, and some take minutes.
tests=${LANG3_TESTS:-'*Test,!*concurrent*/**,!FastDateParser*,!Java15Bug*,!FastDatePrinterTimeZones*,!ExtendedMessageFormat*,!ToStringStyleConcurrency*,!StopWatch*,!ThreadUtils*,!HashSetvBitSet*,!LocaleUtilsTest'}

project=$work/lang3
if [ ! -e "$project/pom.xml" ]; then
  for part in sources test-sources; do
    curl -sSfL -m 120 -o "$work/$part.jar" "$central-$part.jar"
  done
  mkdir -p "$project/src/main/java" "$project/src/test/java" "$project/src/test/resources"
  (cd "$project/src/main/java" && unzip -q -o "$work/sources.jar" && rm -rf META-INF)
  (cd "$project/src/test/java" && unzip -q -o "$work/test-sources.jar" && rm -rf META-INF)
  find "$project/src/test/java" -name jmh_generated -prune -exec rm -rf {} + # which the build makes
  (cd "$project/src/test/java" && find . -type f ! -name '*.java' -exec cp --parents {} ../resources \;)
  curl -sSfL -m 120 -o "$project/pom.xml" "$central.pom"
fi
(cd "$here" && go build -o "$work/cg" .)
maven=(mvn -B -q -e "-Dtest=$tests" -Dsurefire.failIfNoSpecifiedTests=false -Dmaven.test.failure.ignore=true -Drat.skip -Dcheckstyle.skip -Denforcer.skip -Djacoco.skip test)

outcomes() {
  python3 - "$1" <<'P'
import glob, sys, xml.etree.ElementTree as tree
for name in glob.glob(sys.argv[1] + "/TEST-*.xml"):
    for case in tree.parse(name).iter("testcase"):
        how = next((c.tag for c in case if c.tag in ("failure", "error", "skipped")), "passed")
        if how in ("failure", "error"):
            how += " " + next(c.get("type") or "" for c in case if c.tag in ("failure", "error"))
        print(case.get("classname"), case.get("name"), how)
P
}

state() { (cd "$project" && find . -path ./target -prune -o -type f -printf '%p %T@ ' -exec sha256sum {} \; | sort | sha256sum); }
rm -rf "$work/plain"
cp -r "$project" "$work/plain"
begin=$(date +%s)
(cd "$work/plain" && timeout 1800 "${maven[@]}" >"$work/plain.log" 2>&1) || { tail -40 "$work/plain.log"; exit 1; }
middle=$(date +%s)
outcomes "$work/plain/target/surefire-reports" | sort >"$work/plain.outcomes"
before=$(state)
XDG_CACHE_HOME=$work/cache timeout 1800 "$work/cg" measure java ${CG_FLAGS--g fine} -o "$work/run.json" --project "$project" -- "${maven[@]}" >"$work/measured.log" 2>"$work/measured.err" || { tail -40 "$work/measured.log" "$work/measured.err"; exit 1; }
end=$(date +%s)
[ "$before" = "$(state)" ] || { echo "the project has changed"; exit 1; }
[ ! -e "$project/target" ]
outcomes "$work"/cache/cg/projects/*/lang3/target/surefire-reports | sort >"$work/measured.outcomes"
for what in plain measured; do
  echo "$what: $(wc -l <"$work/$what.outcomes") tests, $(grep -c 'passed$' "$work/$what.outcomes") passed"
done
[ -s "$work/plain.outcomes" ]
diff "$work/plain.outcomes" "$work/measured.outcomes" && echo "the same outcomes"
echo "$((middle - begin)) s plain, $((end - middle)) s measured, the copy and the compiler included"
python3 - "$work/run.json" <<'P'
import collections, json, sys
r = json.load(open(sys.argv[1]))
tasks = collections.Counter(t.get("status", "not reported") for t in r["tasks"][1:])
print("%d sites, %d functions called, %d calls; tasks: %s" % (len(r["sites"]), len(r["functions"]), sum(f["calls"] for f in r["functions"]), dict(tasks)))
print("channel:", r["channel"])
for s in r["skipped"][:20]: print("skipped:", s["file"], s["reason"])
P
