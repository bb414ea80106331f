#!/usr/bin/env bash
# What checkpoints cost a real Go program: goldmark converts its README, again and again.
# Prints for each way to run it the median processor time and the number of events.
#
#   testdata/bench/go.sh              # 11 rounds of 200 conversions, the ways in turns
#   ROUNDS=3 testdata/bench/go.sh     # fewer
#
# CG names a cg to use, BEFORE another one to compare it with.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
rounds=${ROUNDS:-11}
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cg=${CG:-}
if [ -z "$cg" ]; then
  cg=$work/cg
  (cd "$root" && go build -o "$cg" .)
fi
export GOFLAGS=-mod=mod XDG_CACHE_HOME=$work/cache
mkdir -p "$work/program" "$XDG_CACHE_HOME"
cd "$work/program"
cat >main.go <<'EOF'
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

func main() {
	text, err := os.ReadFile("goldmark/README.md")
	if err != nil {
		panic(err)
	}
	converter, size := goldmark.New(goldmark.WithExtensions(extension.GFM)), 0
	for range 200 {
		var b bytes.Buffer
		if err := converter.Convert(text, &b); err != nil {
			panic(err)
		}
		size += b.Len()
	}
	fmt.Println(size)
}
EOF
printf 'module convert\n\ngo 1.25.0\n' >go.mod
go get github.com/yuin/goldmark@v1.7.8 2>/dev/null
cp -r "$(go list -m -f '{{.Dir}}' github.com/yuin/goldmark)" goldmark # a replaced module is the program's own
chmod -R u+w goldmark
go mod edit -replace github.com/yuin/goldmark=./goldmark
go build -o plain .

once() { # WAY: prints processor time in seconds and events
  case $1 in
  plain)
    local TIMEFORMAT='%U %S'
    { time ./plain >/dev/null; } 2>&1 | awk '{ print $1 + $2, 0 }'
    return
    ;;
  before) "$BEFORE" measure -g fine -o run.json go . >/dev/null 2>&1 ;;
  cg) "$cg" measure -g fine -o run.json go . >/dev/null 2>&1 ;;
  inline) "$cg" measure -g fine --inline -o run.json go . >/dev/null 2>&1 ;;
  esac
  python3 -c '
import json
r = json.load(open("run.json"))
print(r["process"]["user_s"] + r["process"]["system_s"], r["channel"]["events"])'
}

ways="plain ${BEFORE:+before} cg inline"
for way in $ways; do once "$way" >/dev/null; done # builds
for ((i = 0; i < rounds; i++)); do
  for way in $ways; do once "$way" >>"$way.txt"; done
done
for way in $ways; do
  sort -n "$way.txt" | awk -v way="$way" '{ t[NR] = $1; e = $2 }
    END { printf "%-7s %6.3f s %10d events\n", way, t[int((NR + 1) / 2)], e }'
done
