#!/usr/bin/env bash
# What cg monitor takes of a processor while it reads a machine of many processes each second: alone, with --serve,
# scraped each second, and showing them to all who ask (--serve, --otlp and --socket). Beside it, in the same time,
# Debian's prometheus-node-exporter, scraped each second. Prints the part of a processor of each, from the kernel's
# clock of the process, and the bytes that a scrape has; and what the kernel alone takes to list the processes, to tell
# the clock of each, and to read the file stat of each, once a second.
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
cat >"$work/floor.c" <<'C'
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double used(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
static int pids[100000];
int main(void) {
  double least[3] = {1e9, 1e9, 1e9};
  int n = 0;
  for (int round = 0; round < 15; round++) {
    double at[4];
    struct dirent *e;
    DIR *proc = opendir("/proc");
    at[0] = used();
    for (n = 0; n < 100000 && (e = readdir(proc));)
      if (e->d_name[0] >= '1' && e->d_name[0] <= '9') pids[n++] = atoi(e->d_name);
    at[1] = used();
    for (int i = 0; i < n; i++) {
      struct timespec t;
      clock_gettime(~(clockid_t)pids[i] * 8 + 2, &t);
    }
    at[2] = used();
    for (int i = 0; i < n; i++) {
      char name[32], text[4096];
      snprintf(name, sizeof name, "/proc/%d/stat", pids[i]);
      int fd = open(name, O_RDONLY);
      if (fd >= 0 && read(fd, text, sizeof text) >= 0) close(fd);
    }
    at[3] = used();
    closedir(proc);
    for (int k = 0; k < 3; k++)
      if (at[k + 1] - at[k] < least[k]) least[k] = at[k + 1] - at[k];
    usleep(200000);
  }
  printf("the kernel, of %d processes once a second: list %.3f %%, clocks %.3f %%, files %.3f %%\n", n, least[0] / 10,
         least[1] / 10, least[2] / 10);
}
C
cc -O2 -o "$work/floor" "$work/floor.c"
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
monitor, said = [cg, "monitor", "-s", sensors, "-i", "1s"], r"metrics are at (\S+)"
serve = monitor + ["--serve", "127.0.0.1:0"]
services = {
    "cg, alone": (monitor + ["-o", "/dev/null"], None),
    "cg, scraped": (serve, said),
    "cg, all": (serve + ["--socket", path, "--otlp", "http://127.0.0.1:%d" % collector.server_port], said),
}
if exporter:
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % free.getsockname()[1]
    free.close()
    services["node_exporter"] = [exporter, "--web.listen-address=" + address], None
running = {}
for name, (argv, said) in services.items():
    p = subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    url = "http://%s/metrics" % address if argv[0] == exporter else None
    if said:
        url = re.search(said, p.stderr.readline()).group(1)
    threading.Thread(target=p.stderr.read, daemon=True).start()
    running[name] = p, url
while not os.path.exists(path):
    time.sleep(0.05)
program = socket.socket(socket.AF_UNIX)
program.connect(path)

def used(pid):  # seconds, clock_getcpuclockid(3)
    return time.clock_gettime(~pid << 3 | 2)

for _, url in running.values():
    for _ in range(100 if url else 0):
        try:
            urllib.request.urlopen(url).read()
            break
        except OSError:
            time.sleep(0.1)
time.sleep(3)
before, began, size = {n: used(p.pid) for n, (p, _) in running.items()}, time.monotonic(), {}
for second in range(seconds):
    for n, (_, url) in running.items():
        size[n] = len(urllib.request.urlopen(url).read()) if url else 0
    for k in range(20):  # requests, some each second
        for what in ({"name": "GET /%d" % k, "begin": True}, {"end": True}):
            program.sendall((json.dumps({"annotate": "request", "id": k, "tid": os.getpid(), **what}) + "\n").encode())
    time.sleep(max(0, began + second + 1 - time.monotonic()))
took = time.monotonic() - began
print("%d processes, %.0f s, %d processors, load %.1f" % (processes, took, os.cpu_count(), os.getloadavg()[0]))
for n, (p, _) in running.items():
    print("%-14s %6.3f %% of a processor, %7d bytes a scrape" % (n, 100 * (used(p.pid) - before[n]) / took, size[n]))
print(subprocess.run([os.path.join(work, "floor")], capture_output=True, text=True, check=True).stdout.strip())
for p in [p for p, _ in running.values()] + children:
    p.terminate()
for p in [p for p, _ in running.values()] + children:
    p.wait()
P
python3 "$work/bench.py" "$CG" "$exporter" "$work" "${PROCESSES:-500}" "${SECONDS_:-60}" "${SENSORS:-estimate}" &
children+=($!)
wait $!
children=()
