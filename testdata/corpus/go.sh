#!/usr/bin/env bash
# Runs the tests of Go that nobody wrote for this with checkpoints in every
# function: they must end as without. Packages of the standard library where they
# are, and modules that the module cache has or the module proxy gives. It takes
# some minutes.
# usage: go.sh [FOLDER [WHAT...]]   keeps what it makes in FOLDER; WHAT of std, text, tools, staticcheck,
#        http2, protobuf, sqlite3, bbolt, nats and badger, which run with -race, GOMAXPROCS=1 and 64, too,
#        lines and blocks, which are std with -g line and -g block,
#        and short, which is part of std without --inline, takes 40 s of processor time and needs no network
#
#	CG=path   the cg to use; built from this tree otherwise
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
shift || true
what=${*:-std lines blocks text tools staticcheck http2 protobuf sqlite3 bbolt nats badger}
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$here" && go build -o "$cg" .)
failed=0

# outcomes FILE: of go test -json, a line for each test that ended.
outcomes() {
  python3 - "$1" <<'P'
import json, re, sys
seen = {}
for line in open(sys.argv[1]):
    try:
        e = json.loads(line)
    except ValueError:
        continue
    if e.get("Action") in ("pass", "fail", "skip") and "Package" in e:
        seen[e["Package"] + " " + e.get("Test", "")] = e["Action"]
for line in sorted(re.sub("0x[0-9a-f]+", "0x", name) + " " + how for name, how in seen.items()): # some are named by addresses
    print(line)
P
}

# compare NAME FOLDER FLAGS PACKAGES...: plainly, with checkpoints, and with them in
# what the compiler inlines, too, unless ways says otherwise; with -g $granularity, if that is set.
compare() {
  local name=$1 folder=$2 flags=$3
  shift 3
  (cd "$folder" && go test -count=1 -json "$@" >"$work/$name.plain.json" 2>"$work/$name.plain.err") || true
  outcomes "$work/$name.plain.json" >"$work/$name.plain"
  echo "$name: $(wc -l <"$work/$name.plain") outcomes, $(grep -c ' pass$' "$work/$name.plain") passed plainly"
  for how in ${ways:-fine --inline}; do
    [ "$how" != fine ] || how=
    # shellcheck disable=SC2086
    (cd "$folder" && "$cg" measure -g "${granularity:-fine}" $how $flags -o "$work/$name.run.json" go -- test -json "$@" >"$work/$name.json" 2>"$work/$name.err") || true
    outcomes "$work/$name.json" >"$work/$name.with"
    echo "  ${how:-fine}: $(grep -c ' pass$' "$work/$name.with") passed"
    diff "$work/$name.plain" "$work/$name.with" | sed 's/^/    /' || failed=1
    python3 - "$work/$name.run.json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
calls = sum(f["calls"] or 0 for f in r["functions"] if f["kind"] != "task")
places = [p for f in r["functions"] for p in f.get("places", []) if p["kind"] != "rest"]
if places:
    print("    %d lines or blocks came %d times" % (len(places), sum(p["count"] for p in places)))
print("    %d functions ran %d times; lost %d, open at the end %d, skipped %d" % (
    len(r["functions"]), calls, r["channel"]["lost"], r["channel"]["open_at_end"], len(r["skipped"])))
P
  done
}

# module PATH VERSION FOLDER: a copy that is the program's own.
module() {
  local from
  from=$(go mod download -json "$1@$2" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
  [ -d "$work/$3" ] || { cp -r "$from" "$work/$3"; chmod -R u+w "$work/$3"; }
}

# compare_long NAME FOLDER PACKAGES...: with one processor, with many, and with the race detector, too.
compare_long() {
  local name=$1 folder=$2 n
  shift 2
  compare "$name" "$folder" "" "$@"
  for n in 1 64; do
    GOMAXPROCS=$n ways=fine compare "$name-$n" "$folder" "" "$@"
  done
  ways=fine compare "$name-race" "$folder" "" -race "$@"
}

for w in $what; do
  case $w in
  std)
    compare std "$here" "--include */src/encoding/json/* --include */src/text/template/* --include */src/sort/* --include */src/strconv/*" \
      encoding/json text/template text/template/parse sort strconv
    ;;
  lines | blocks)
    granularity=${w%s} compare "$w" "$here" "--include */src/encoding/json/* --include */src/text/template/* --include */src/sort/* --include */src/strconv/*" \
      encoding/json text/template text/template/parse sort strconv
    ;;
  short)
    ways=fine compare short "$here" "--include */src/text/template/* --include */src/sort/* --include */src/strconv/*" \
      -short text/template text/template/parse sort strconv
    ;;
  text)
    module golang.org/x/text v0.31.0 text
    compare text "$work/text" "" ./...
    ;;
  tools)
    module golang.org/x/tools v0.51.0 tools
    compare tools "$work/tools" "" ./go/ast/... ./go/analysis/... ./go/cfg/... ./go/types/... ./go/ssa/... ./container/... ./cover/... ./txtar/... ./internal/...
    ;;
  staticcheck)
    module honnef.co/go/tools v0.7.0 staticcheck
    compare staticcheck "$work/staticcheck" "" ./...
    ;;
  http2)
    module golang.org/x/net v0.62.0 net
    # With -race one test fails plainly in some 60 of 400 runs.
    compare_long http2 "$work/net" -short -skip TestTransportFailureErrorForHTTP1Response ./http2/... ./trace ./html ./idna
    ;;
  protobuf)
    module google.golang.org/protobuf v1.36.12 protobuf
    compare_long protobuf "$work/protobuf" ./proto ./encoding/... ./types/... ./reflect/... ./internal/impl
    ;;
  sqlite3) # cgo: C calls Go back
    module github.com/mattn/go-sqlite3 v1.14.53 sqlite3
    compare_long sqlite3 "$work/sqlite3" .
    ;;
  bbolt)
    module go.etcd.io/bbolt v1.5.0 bbolt
    # One test fails if the disk takes 5 s for 134 MB.
    compare_long bbolt "$work/bbolt" -short -skip TestDB_Open_InitialMmapSize . ./internal/...
    ;;
  nats)
    module github.com/nats-io/nats.go v1.55.0 nats
    compare_long nats "$work/nats" -short ./internal/... ./encoders/builtin ./micro
    ;;
  badger)
    module github.com/dgraph-io/badger/v4 v4.9.6 badger
    compare_long badger "$work/badger" -short ./skl ./table ./y ./trie ./pb
    ;;
  esac
done
exit $failed
