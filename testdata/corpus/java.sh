#!/usr/bin/env bash
# Rewrites Java that nobody wrote for this: the JDK's own java.base, parsed back
# and in part compiled, and commons-lang3 as a whole, whose own tests must end
# as they do without checkpoints. It needs a JDK with its sources (SRC_ZIP, or
# lib/src.zip of the JDK of javac) and Maven Central; it takes some minutes.
# usage: java.sh [FOLDER]   keeps what it makes in FOLDER; CG_JAVA_GRANULARITY=line or block tells these apart, too
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
zip=${SRC_ZIP:-$jdk/lib/src.zip}

# rewrite FOLDER OUT: every .java file, with checkpoints; a file that is not
# taken fails.
rewrite() {
  (cd "$here" && CG_JAVA_CORPUS=$1 CG_JAVA_OUT=$2 go test ./languages/java -count 1 -run 'TestCorpus$' -v) | grep -v -e '^=== ' -e '^--- ' -e '^ok' -e PASS
}

# stub FOLDER: the class that the checkpoints call.
stub() {
  mkdir -p "$1/cg\$"
  sed 's/PACKAGE/cg$/' "$here/testdata/programs/java/R.java" >"$1/cg\$/R.java"
}

if [ -e "$zip" ]; then
  echo "java.base of $zip"
  [ -d "$work/java.base" ] || unzip -q -o "$zip" 'java.base/*' -d "$work"
  rewrite "$work/java.base" "$work/java.base.out"
  stub "$work/java.base.out"
  # Patched into the module that javac knows, some of its packages at a time.
  for p in java/util java/text java/math java/time java/net sun/security/util; do
    echo "  compile $p: $(find "$work/java.base.out/$p" -name '*.java' | wc -l) files"
    find "$work/java.base.out/$p" "$work/java.base.out/cg\$" -name '*.java' >"$work/list"
    javac -nowarn -proc:none -XDignore.symbol.file -encoding UTF-8 --patch-module "java.base=$work/java.base.out" -implicit:none \
      -d "$work/java.base.classes" "@$work/list" 2>&1 | { grep -v -e '^Note:' -e warning || true; } | { ! grep . ; }
  done
else
  echo "no $zip: java.base is left out (SRC_ZIP names another)"
fi

echo "commons-lang3"
version=3.17.0
central=https://repo1.maven.org/maven2
lang3=$work/lang3
mkdir -p "$lang3/src" "$lang3/plain" "$lang3/measured"
get() { [ -e "$lang3/${1##*/}" ] || curl -sSfL -m 120 -o "$lang3/${1##*/}" "$central/$1"; }
get "org/apache/commons/commons-lang3/$version/commons-lang3-$version-sources.jar"
get "org/apache/commons/commons-lang3/$version/commons-lang3-$version-tests.jar"
get "org/apache/commons/commons-lang3/$version/commons-lang3-$version.pom"
get "org/junit/platform/junit-platform-console-standalone/1.11.0/junit-platform-console-standalone-1.11.0.jar"
[ -e "$lang3/cp" ] || mvn -q -B -f "$lang3/commons-lang3-$version.pom" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath \
  -DincludeScope=test -Dmdep.outputFile="$lang3/cp"
(cd "$lang3/src" && unzip -q -o "../commons-lang3-$version-sources.jar" && rm -rf META-INF)
rewrite "$lang3/src" "$lang3/out"
stub "$lang3/out"
for what in src:plain out:measured; do
  find "$lang3/${what%:*}" -name '*.java' >"$work/list"
  javac -nowarn -proc:none -encoding UTF-8 -d "$lang3/${what#*:}" "@$work/list" 2>&1 | { grep -v '^Note:' || true; } | { ! grep . ; }
  rm -rf "$lang3/reports-${what#*:}"
  # Tests of timing and of the pool of threads are unsteady by themselves.
  (cd "$lang3" && timeout 900 java --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.lang.reflect=ALL-UNNAMED \
    --add-opens java.base/java.util=ALL-UNNAMED --add-opens java.base/java.time=ALL-UNNAMED --add-opens java.base/java.time.chrono=ALL-UNNAMED \
    -Duser.language=en -Duser.region=US -Dcg.balance="$lang3/balance" \
    -jar junit-platform-console-standalone-1.11.0.jar execute --details=none --disable-banner \
    -cp "${what#*:}:commons-lang3-$version-tests.jar:$(cat cp)" --select-package "${LANG3_TESTS:-org.apache.commons.lang3}" \
    --exclude-classname '.*(concurrent|FastDateParser_TimeZone|time\.StopWatch|ThreadUtils|HashSetvBitSet).*' --reports-dir "reports-${what#*:}" >"${what#*:}.log" 2>&1) || true
  python3 - "$lang3/reports-${what#*:}" >"$lang3/${what#*:}.outcomes" <<'P'
import glob, sys, xml.etree.ElementTree as tree
for name in glob.glob(sys.argv[1] + "/TEST-junit-*.xml"):
    for case in tree.parse(name).iter("testcase"):
        how = next((c.tag for c in case if c.tag in ("failure", "error", "skipped")), "passed")
        if how in ("failure", "error"):
            how += " " + next(c.get("type") or "" for c in case if c.tag in ("failure", "error"))
        print(case.get("classname"), case.get("name"), how)
P
  sort -o "$lang3/${what#*:}.outcomes" "$lang3/${what#*:}.outcomes"
  echo "  ${what#*:}: $(wc -l <"$lang3/${what#*:}.outcomes") tests, $(grep -c 'passed$' "$lang3/${what#*:}.outcomes") passed"
done
[ -s "$lang3/plain.outcomes" ]
diff "$lang3/plain.outcomes" "$lang3/measured.outcomes" && echo "  the same outcomes"
awk '{ n += $1; open += $2 } /wrong/ { wrong++ } END { print "  " n " sites entered, " open " open, " wrong+0 " threads with a wrong exit" }' "$lang3/balance"
