#!/usr/bin/env bash
# Measures what a server takes for a request in processor time: alone, under cg, and beside Node's own profiler and precise
# coverage. Express and Fastify answer with JSON. It installs both from npm's registry.
# usage: node.sh [FOLDER]
#
#	CG=path        the cg to use; built from this tree otherwise
#	ROUNDS=n       of each kind, in turns; the least counts (3)
#	REQUESTS=n     of a round, behind a fifth as many that do not count (10000)
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
[ $# -gt 0 ] || trap 'rm -rf "$work"' EXIT
cg=${CG:-$work/cg}
[ -n "${CG:-}" ] || (cd "$here" && go build -o "$cg" .)
cd "$work"
[ -d node_modules/fastify ] || npm install --silent --no-audit --no-fund --ignore-scripts express@5.3.0 fastify@5.12.8

cat >server.js <<'T'
const answer = (id) => ({ id, items: Array.from({ length: 20 }, (_, i) => ({ i, name: 'item ' + i })) })
let from
function reset() { from = process.cpuUsage() }
function report() {
  const { user, system } = process.cpuUsage(from)
  return { us: user + system }
}
async function main() {
  let port
  if (process.argv[2] === 'express') {
    const app = require('express')()
    app.get('/items/:id', (req, res) => res.json(answer(req.params.id)))
    app.get('/reset', (req, res) => { reset(); res.json({}) })
    app.get('/report', (req, res) => res.json(report()))
    await new Promise((done) => { const s = app.listen(0, '127.0.0.1', () => { port = s.address().port; done() }) })
  } else {
    const app = require('fastify')()
    app.get('/items/:id', async (req) => answer(req.params.id))
    app.get('/reset', async () => { reset(); return {} })
    app.get('/report', async () => report())
    await app.listen({ port: 0, host: '127.0.0.1' })
    port = app.server.address().port
  }
  console.log(JSON.stringify({ port, pid: process.pid }))
  process.on('SIGTERM', () => process.exit(0))
}
main()
T
cat >drive.js <<'T'
// drive.js REQUESTS COMMAND...: starts a server and prints the microseconds of its processor time for a request.
const { spawn } = require('node:child_process')
const http = require('node:http')
const [requests, command, ...args] = process.argv.slice(2)
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 })
const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
const get = (port, path) => new Promise((done, fail) => {
  http.get({ port, path, agent, host: '127.0.0.1' }, (res) => {
    let text = ''
    res.on('data', (part) => { text += part }).on('end', () => done(text))
  }).on('error', fail)
})
async function all(port, n) {
  let left = n
  await Promise.all(Array.from({ length: 8 }, async () => { while (left-- > 0) await get(port, '/items/' + left) }))
}
server.stdout.once('data', async (line) => {
  const { port, pid } = JSON.parse(line)
  await all(port, requests / 5)
  await get(port, '/reset')
  await all(port, Number(requests))
  console.log(JSON.parse(await get(port, '/report')).us / requests)
  agent.destroy()
  process.kill(pid, 'SIGTERM')
})
T

# measured KIND FRAMEWORK: one round.
measured() {
  local requests=${REQUESTS:-10000}
  case $1 in
  alone) node drive.js "$requests" node server.js "$2" ;;
  coarse) node drive.js "$requests" "$cg" measure --quiet -o run.json node -- server.js "$2" ;;
  fine) node drive.js "$requests" "$cg" measure --quiet -g fine -o run.json node -- server.js "$2" ;;
  packages) node drive.js "$requests" "$cg" measure --quiet -g fine --include '*/node_modules/*' -o run.json node -- server.js "$2" ;;
  cpu-prof) node drive.js "$requests" node --cpu-prof --cpu-prof-dir=made server.js "$2" ;;
  coverage) NODE_V8_COVERAGE=made node drive.js "$requests" node server.js "$2" ;;
  esac
}

kinds="alone coarse fine packages cpu-prof coverage"
declare -A least
for ((round = 0; round < ${ROUNDS:-3}; round++)); do
  for framework in express fastify; do
    for kind in $kinds; do
      us=$(timeout 300 bash -c "$(declare -f measured); cg=$(printf %q "$cg"); measured $kind $framework")
      rm -rf made
      at=$kind/$framework
      least[$at]=$(printf '%s\n' "$us" "${least[$at]:-$us}" | sort -g | head -n 1)
    done
  done
done
echo "microseconds of the server's processor time for a request, the least of ${ROUNDS:-3}; load $(cut -d' ' -f1 /proc/loadavg); Node $(node --version)"
printf '%-10s %9s %9s\n' '' express fastify
for kind in $kinds; do printf '%-10s %9.1f %9.1f\n' "$kind" "${least[$kind/express]}" "${least[$kind/fastify]}"; done
