#!/usr/bin/env bash
# Pictures of the page of a real run: every view, light and dark, at four widths, and
# docs/page.png, which the README shows. Needs Chromium.
#
#	testdata/screens.sh DIR          # the pictures to look at, in DIR
#	testdata/screens.sh --readme     # docs/page.png
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { echo "usage: testdata/screens.sh DIR | --readme" >&2; exit 2; }
browser=$(command -v chromium || command -v google-chrome) || { echo "screens.sh: no Chromium is installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/cg" .
cp -r testdata/programs/python/warehouse "$work"
(cd "$work" && PATH=$work:$PATH && cg measure python warehouse/main.py -g fine --events run.cgev -o run.json &&
  cg report --with-source run.json -o run.html &&
  # The browser takes its picture when the page's own scripts have ended, and does not wait for workers.
  sed -i 's|<meta http-equiv="Content-Security-Policy"[^>]*>|<script>delete globalThis.Worker</script>|' run.html) >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }

# shot FILE WIDTH HEIGHT FRAGMENT [SWITCH...]: a picture of what the fragment shows.
shot() {
  local file=$1 size=$2,$3 address=file://$work/run.html#$4
  shift 4
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$size" \
    --virtual-time-budget=5000 --user-data-dir="$work/profile" "$@" --screenshot="$file" "$address" >/dev/null 2>&1
  [ -s "$file" ] || { echo "screens.sh: $browser made no picture of $address" >&2; exit 1; }
}

if [ "$1" = --readme ]; then
  shot "$PWD/docs/page.png" 1280 1420 tab=overview
  exit
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
for width in 390 800 1280 1720; do
  for view in overview flames power functions source details; do
    shot "$out/$view-$width.png" "$width" 1100 "tab=$view"
    shot "$out/$view-$width-dark.png" "$width" 1100 "tab=$view" --force-dark-mode --blink-settings=preferredColorScheme=0
  done
done
echo "$(ls "$out" | wc -l) pictures in $out"
