#!/usr/bin/env bash
# Fetches the chart library of the page: report/format/html/page/uplot/. The version and
# its digest (as the registry of npm tells it) stand here; nothing else is
# taken. Run it after changing them: go generate ./report
set -euo pipefail
version=1.6.32
sha512=KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==

cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
npm pack --silent --pack-destination "$tmp" "uplot@$version" >/dev/null
got=$(openssl dgst -sha512 -binary "$tmp/uplot-$version.tgz" | base64 -w0)
if [ "$got" != "$sha512" ]; then
  echo "uplot@$version has the digest $got, not $sha512" >&2
  exit 1
fi
tar -xzf "$tmp/uplot-$version.tgz" -C "$tmp"
mkdir -p uplot
cp "$tmp/package/dist/uPlot.iife.min.js" "$tmp/package/dist/uPlot.min.css" uplot/
cp "$tmp/package/LICENSE" uplot/LICENSE
