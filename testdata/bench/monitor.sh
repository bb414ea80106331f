#!/usr/bin/env bash
# What cg monitor takes of a processor while it reads a machine of many processes each second and shows them
# to all who ask: --serve, scraped each second, --otlp and --socket. Beside it, in the same time, Debian's
# prometheus-node-exporter, scraped each second. Prints the part of a processor of each, from the kernel's
# own figures of the process (/proc/PID/stat, ticks of 10 ms), and the bytes that a scrape has.
#
#   testdata/bench/monitor.sh               # 500 processes, 60 s
#   PROCESSES=100 SECONDS_=20 testdata/bench/monitor.sh
#
# CG names the cg, EXPORTER the exporter; without that the one in PATH, or none. The counters are those of a
# model of the machine (-s estimate), unless SENSORS names others.
set -euo pipefail
unset $(git rev-parse --local-env-vars) # of a hook that runs this
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
children=()
leave() {
  [ ${#children[@]} = 0 ] || kill "${children[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap leave EXIT
if [ -z "${CG:-}" ]; then
  CG=$work/cg
  (cd "$root" && go build -o "$CG" .)
fi
exporter=${EXPORTER:-$(type -P prometheus-node-exporter || true)}
cat >"$work/bench.py" <<'P'
import http.server, json, os, re, socket, subprocess, sys, threading, time, urllib.request
cg, exporter, work, processes, seconds, sensors = sys.argv[1:4] + [int(sys.argv[4]), int(sys.argv[5]), sys.argv[6]]
children = [subprocess.Popen(["sleep", "3600"]) for _ in range(processes)]

class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
    protocol_version = "HTTP/1.1"

collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=collector.serve_forever, daemon=True).start()
path = os.path.join(work, "s")
services = {"cg monitor": ([cg, "monitor", "-s", sensors, "-i", "1s", "--serve", "127.0.0.1:0", "--socket", path,
            "--otlp", "http://127.0.0.1:%d" % collector.server_port], r"metrics are at (\S+)")}
if exporter:
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % free.getsockname()[1]
    free.close()
    services["node_exporter"] = [exporter, "--web.listen-address=" + address], None
running = {}
for name, (argv, said) in services.items():
    p = subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    url = re.search(said, p.stderr.readline()).group(1) if said else "http://%s/metrics" % address
    threading.Thread(target=p.stderr.read, daemon=True).start()
    running[name] = p, url
while not os.path.exists(path):
    time.sleep(0.05)
program = socket.socket(socket.AF_UNIX)
program.connect(path)

def ticks(pid):
    fields = open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])

for _, url in running.values():
    for _ in range(100):
        try:
            urllib.request.urlopen(url).read()
            break
        except OSError:
            time.sleep(0.1)
time.sleep(3)
before, began, size = {n: ticks(p.pid) for n, (p, _) in running.items()}, time.monotonic(), {}
for second in range(seconds):
    for n, (_, url) in running.items():
        size[n] = len(urllib.request.urlopen(url).read())
    for k in range(20):  # requests, some each second
        for what in ({"name": "GET /%d" % k, "begin": True}, {"end": True}):
            program.sendall((json.dumps({"annotate": "request", "id": k, "tid": os.getpid(), **what}) + "\n").encode())
    time.sleep(max(0, began + second + 1 - time.monotonic()))
took = time.monotonic() - began
print("%d processes, %.0f s, %d processors, load %.1f" % (processes, took, os.cpu_count(), os.getloadavg()[0]))
for n, (p, _) in running.items():
    print("%-14s %6.2f %% of a processor, %7d bytes a scrape" % (n, 100 * (ticks(p.pid) - before[n]) / 100 / took, size[n]))
for p in [p for p, _ in running.values()] + children:
    p.terminate()
for p in [p for p, _ in running.values()] + children:
    p.wait()
P
python3 "$work/bench.py" "$CG" "$exporter" "$work" "${PROCESSES:-500}" "${SECONDS_:-60}" "${SENSORS:-estimate}" &
children+=($!)
wait $!
children=()
