#!/usr/bin/env bash
# Pictures of the pages: every view of a real run, of a part of it and of three runs side by side, and the page of each
# other result, light and dark, at four widths; and docs/page.png, which the README shows. Needs Chromium; for the
# latter pngquant makes it a third as large, where it is installed.
#
#	testdata/screens.sh DIR          # the pictures to look at, in DIR
#	WIDTHS=390 testdata/screens.sh DIR
#	testdata/screens.sh --readme     # docs/page.png
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { echo "usage: testdata/screens.sh DIR | --readme" >&2; exit 2; }
browser=$(command -v chromium || command -v google-chrome) || { echo "screens.sh: no Chromium is installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${CG:-}" ]; then ln -s "$(realpath "$CG")" "$work/cg"; else go build -o "$work/cg" .; fi
cp -r testdata/programs/python/warehouse "$work"
saved=$PWD/testdata/saved/0.1.0
pages() { # the page of a run, and, but for the README, those of other results
  cd "$work"
  cg measure python warehouse/main.py -g fine --events run.cgev -o run.json
  cg report --with-source run.json -o run.html
  [ "$1" != --readme ] || return 0
  cg measure -g fine -o half.json python warehouse/main.py 300
  cg measure -g fine -o again.json python warehouse/main.py 590
  cg report run.json half.json again.json -o compare.html
  for result in gate comparison repeat cluster monitor session; do cg report "$saved/$result.json" -o "$result.html"; done
  cg track merge "$saved"/track/cg_20ms.csv --export-plot merged.html
}
(PATH=$work:$PATH && pages "$1") >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
# The browser takes its picture when the page's own scripts have ended, and does not wait for workers.
sed -i 's|<meta http-equiv="Content-Security-Policy"[^>]*>|<script>delete globalThis.Worker</script>|' "$work"/*.html

# shot FILE WIDTH HEIGHT PAGE FRAGMENT [SWITCH...]: a picture of what the fragment shows.
shot() {
  local file=$1 size=$2,$3 address=file://$work/$4.html#$5
  shift 5
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$size" \
    --virtual-time-budget=5000 --user-data-dir="$work/profile" "$@" --screenshot="$file" "$address" >/dev/null 2>&1
  [ -s "$file" ] || { echo "screens.sh: $browser made no picture of $address" >&2; exit 1; }
}

if [ "$1" = --readme ]; then
  shot "$PWD/docs/page.png" 1280 1400 run tab=overview
  if command -v pngquant >/dev/null; then pngquant --force --strip --speed 1 --output docs/page.png 128 docs/page.png; fi
  exit
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
views=()
for view in overview flames power functions source details; do views+=("$view run tab=$view"); done
views+=("chosen run tab=functions&function=shop.routes.Router.distances&file=$work/warehouse/shop/routes.py")
for view in overview flames functions power; do views+=("part-$view run tab=$view&from=1&to=1.5"); done
for view in compare difference; do views+=("$view compare tab=$view"); done
views+=("tasks session tab=tests")
for result in gate comparison repeat cluster monitor merged; do views+=("result-$result $result x=1"); done
for width in ${WIDTHS:-390 800 1280 1720}; do
  for view in "${views[@]}"; do
    read -r name page fragment <<<"$view"
    shot "$out/$name-$width.png" "$width" 1100 "$page" "$fragment"
    shot "$out/$name-$width-dark.png" "$width" 1100 "$page" "$fragment" --force-dark-mode --blink-settings=preferredColorScheme=0
  done
done
echo "$(ls "$out" | wc -l) pictures in $out"
