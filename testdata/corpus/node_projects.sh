#!/usr/bin/env bash
# Runs the tests of packages of npm's registry, which bring them along, with checkpoints in every function of the package and of
# all that it needs: each test must end as without, a least number of functions must run, and no event may be lost. zod is of
# TypeScript, and vitest runs its tests: there only its own functions have checkpoints. Of fastify's tests those run that
# ask no network and end in some seconds.
# usage: node_projects.sh [FOLDER [WHAT...]]   keeps what it installs in FOLDER; WHAT of qs, secure-json-parse, find-my-way,
#        light-my-request, avvio, zod and fastify, or short for the first two. It takes some minutes, short less than one
#
#	CG=path      the cg to use; built from this tree otherwise
#	NODES=a:b    the nodes to use; node otherwise
#
# Status 3: a package cannot be fetched.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
shift || true
what=${*:-qs secure-json-parse find-my-way light-my-request avvio zod fastify}
[ "$what" != short ] || what="qs secure-json-parse"
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$here" && go build -o "$cg" .)

# project WHAT: its version, the least number of functions that run, the packages that its tests need besides, and the tests.
project() {
  needs='' tests=(--test --test-reporter=tap) packages=(--include '*/node_modules/*')
  case $1 in
  qs) version=6.17.1 least=100 tests=(node_modules/tape/bin/tape test/parse.js test/stringify.js test/utils.js)
    needs='tape es-value-fixtures for-each has-bigints has-override-mistake has-property-descriptors has-proto has-symbols
      iconv-lite mock-property object-inspect qs-iconv safer-buffer' ;;
  secure-json-parse) version=4.1.1 least=100 needs=tape tests=(node_modules/tape/bin/tape test/index.test.js) ;;
  find-my-way) version=9.10.2 least=100 needs='proxyquire rfdc' ;;
  light-my-request) version=6.8.1 least=100
    needs='@fastify/ajv-compiler end-of-stream express form-auto-content form-data formdata-node multer undici' ;;
  avvio) version=9.3.1 least=50 ;;
  zod) version=4.6.7 least=1500 needs='vitest@4.1.12' packages=()
    tests=(node_modules/vitest/vitest.mjs run --config "$here/testdata/corpus/node/zod.config.mjs" --root . --pool threads --reporter tap-flat) ;;
  fastify) version=5.12.8 least=1000
    tests+=(test/404s.test.js test/content-parser.test.js test/decorator.test.js test/hooks.test.js test/hooks-async.test.js test/plugin.1.test.js
      test/route.1.test.js test/schema-validation.test.js test/reply-error.test.js test/internals/all.test.js
      test/internals/hook-runner.test.js test/internals/reply.test.js test/internals/validation.test.js)
    needs='ajv ajv-errors ajv-formats ajv-i18n ajv-merge-patch fast-json-body fastify-plugin fluent-json-schema h2url
      http-errors joi JSONStream node-forge proxyquire split2 typebox undici vary yup @fastify/pre-commit autocannon' ;;
  *) echo "node_projects: no project $1" >&2; exit 2 ;;
  esac
}

# fetched WHAT: installs a project and what its tests need, of the release (0.x: the minor one) that it names, once.
fetched() {
  [ ! -e "$work/$1/fetched" ] || return 0
  rm -rf "${work:?}/$1"
  mkdir "$work/$1"
  cd "$work/$1"
  timeout 120 npm pack --silent "$1@$version" >/dev/null && tar xzf ./*.tgz --strip-components 1 && rm ./*.tgz || return
  local names=()
  for name in $needs; do
    case $name in ?*@*) names+=("$name") && continue ;; esac
    names+=("$name@$(node -p '/\d+/.test(name = require("./package.json").devDependencies[process.argv[1]]) ? /0\.\d+|\d+/.exec(name)[0] : ""' "$name")")
  done
  npm pkg delete devDependencies # which npm would look up, all of them
  timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts --omit=dev --no-save "${names[@]}" && touch fetched
}

# results FILE: how each test of an output in TAP has ended, without what differs from run to run.
results() { grep -E '^ *(ok|not ok) |^ *# (Subtest: |tests |pass |fail )' "$1" | sed -E 's/ # (time|duration).*//' | sort; }

# compared NODE: runs the tests without checkpoints and with them, and reports whether they end alike.
compared() {
  status=0 plain=0
  timeout 600 "$1" "${tests[@]}" >plain.out 2>plain.err </dev/null || plain=$?
  timeout 600 "$cg" measure -g fine "${packages[@]}" -o run.json --quiet node --node "$1" -- "${tests[@]}" \
    >measured.out 2>measured.err </dev/null || status=$?
  results plain.out >plain.results
  results measured.out >measured.results
  [ $status = $plain ] && diff plain.results measured.results >&2 &&
    python3 - "$w" "$("$1" --version)" "$least" <<'P'
import json, re, sys
run = json.load(open("run.json"))
lines = open("measured.results").read().split("\n")
passed = sum(bool(re.match(" *ok ", line)) for line in lines)
failed = sum(bool(re.match(" *not ok ", line)) for line in lines)
ran, channel = len(run["functions"]), run["channel"]
print(f"{sys.argv[1]} {sys.argv[2]}: {passed} results are ok and {failed} are not, as without checkpoints, {ran} functions ran, {channel['events']} events, "
      f"{channel['lost']} lost, {len(run['skipped'])} left out or alone")
sys.exit(channel["lost"] > 0 or ran < int(sys.argv[3]) or passed == 0)
P
}

failed=0
IFS=: read -ra nodes <<<"${NODES:-node}"
for w in $what; do
  project "$w"
  fetched "$w" || { echo "$w: cannot be fetched"; exit 3; }
  cd "$work/$w"
  for node in "${nodes[@]}"; do
    for again in 1 2 0; do # tests of timeouts fail at times where the machine is busy, also without checkpoints
      if compared "$node"; then break; fi
      [ $again = 0 ] || continue
      echo "$w: status $plain without checkpoints, $status with" >&2
      tail -n 5 plain.err measured.err >&2
      failed=1
    done
  done
done
exit $failed
