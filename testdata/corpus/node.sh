#!/usr/bin/env bash
# Runs programs on packages of npm's registry that nobody wrote for this, with checkpoints in every function of the
# packages: output and status must be as without, a least number of functions must run, and no event may be lost. It takes some minutes.
# usage: node.sh [FOLDER [WHAT...]]   keeps what it installs in FOLDER; WHAT of acorn, express, fastify, lodash, rxjs, ws,
#        zod, prettier, tsc and webpack
#
#	CG=path      the cg to use; built from this tree otherwise
#	NODES=a:b    the nodes to use; node otherwise
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
shift || true
what=${*:-acorn express fastify lodash rxjs ws zod prettier tsc webpack}
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$here" && go build -o "$cg" .)
cd "$work"
[ -d node_modules/webpack ] || npm install --silent --no-audit --no-fund --ignore-scripts acorn@8.19.0 express@5.3.0 \
  fastify@5.12.8 lodash@4.18.1 rxjs@7.8.2 ws@8.23.0 zod@4.6.7 prettier@3.10.1 typescript@5.9.3 webpack@5.113.0
mkdir -p project
cp "$here/testdata/corpus/node/use.js" .
cat > project/a.ts <<'T'
import { g } from './b'
export class A<T extends { n: number }> { constructor(private all: T[]) {} sum(): number { return this.all.reduce((s, x) => s + g(x.n), 0) } }
T
echo 'export function g(x: number): number { return x * 2 }' > project/b.ts
echo 'module.exports = require("lodash").add(1, 2)' > project/entry.js
cat > build.js <<'T'
require('webpack')({ mode: 'production', context: __dirname, entry: './project/entry.js', output: { path: require('node:path').resolve(process.argv[2]) } },
  (error, stats) => { if (error || stats.hasErrors()) throw error || new Error(stats.toString()) })
T

# command WHAT DIR: what is run; DIR takes what it writes.
command_of() {
  case $1 in
  prettier) echo node_modules/prettier/bin/prettier.cjs use.js ;;
  tsc) echo node_modules/typescript/lib/tsc.js --strict --target es2022 --module commonjs --skipLibCheck --types zod --outDir "$2" project/a.ts ;;
  webpack) echo build.js "$2" ;;
  *) echo use.js "$1" ;;
  esac
}

# least_of WHAT: the least number of functions that run in it.
least_of() {
  case $1 in
  acorn) echo 150 ;;
  express) echo 200 ;;
  fastify) echo 700 ;;
  lodash) echo 100 ;;
  rxjs) echo 300 ;;
  ws) echo 60 ;;
  zod) echo 320 ;;
  prettier) echo 950 ;;
  tsc) echo 2000 ;;
  webpack) echo 3000 ;;
  esac
}

failed=0
IFS=: read -ra nodes <<<"${NODES:-node}"
for node in "${nodes[@]}"; do
  for w in $what; do
    rm -rf made-plain made
    mkdir made-plain made
    status=0 plain=0
    # shellcheck disable=SC2046
    "$node" $(command_of "$w" made-plain) >plain.out 2>plain.err || plain=$?
    # shellcheck disable=SC2046
    "$cg" measure -g fine --include '*/node_modules/*' -o run.json --quiet node --node "$node" -- $(command_of "$w" made) \
      >measured.out 2>measured.err || status=$?
    if [ $status = $plain ] && [ $plain = 0 ] && cmp plain.out measured.out && diff -r made-plain made &&
      python3 - "$w" "$("$node" --version)" "$(least_of "$w")" <<'P'
import json, sys
run = json.load(open("run.json"))
channel = run["channel"]
ran = len(run["functions"])
print(f"{sys.argv[1]} {sys.argv[2]}: {ran} functions ran, {channel['events']} events, {channel['lost']} lost, {len(run['skipped'])} left out or alone")
sys.exit(channel["lost"] > 0 or ran < int(sys.argv[3]))
P
    then continue; fi
    echo "$w: status $plain without checkpoints, $status with" >&2
    tail -n 5 plain.err measured.err >&2
    failed=1
  done
done
exit $failed
