#!/usr/bin/env bash
# Builds cg twice from the committed files, in two folders and with two empty build caches, and fails
# if the programs differ in a byte. It prints their digest.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
for folder in one another/with-a-longer-name; do
  mkdir -p "$work/$folder/source"
  git -C "$root" archive HEAD | tar -x -C "$work/$folder/source"
  (cd "$work/$folder/source" && GOCACHE="$work/$folder/cache" go build -trimpath -buildvcs=false -o "$work/$folder/cg" .)
done
cmp "$work/one/cg" "$work/another/with-a-longer-name/cg"
if grep -qF "$work" "$work/one/cg"; then
  echo "reproducible: the program has the name of the folder in which it was built" >&2
  exit 1
fi
sha256sum "$work/one/cg" | sed 's/ .*/ cg/'
