"""What start_task and stop_task cost, with cg's samples: python bench.py [ROUNDS].

PYTHONPATH names the package. The least of the rounds is told first: others of
the machine only make it more.
"""
import sys
import time

import codegreen

N = 20000
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
s = codegreen.Session(save_to_file=False, warn_on_concurrent=False).start()
nothing = lambda *_: None
for name, begin, end in ("two calls", nothing, nothing), ("start_task, stop_task", s.start_task, s.stop_task):
    took = []
    for _ in range(rounds):
        t = time.perf_counter_ns()
        for _ in range(N):
            begin("a")
            end("a")
        took.append((time.perf_counter_ns() - t) / N / 1000)
    took.sort()
    print("%-22s %6.2f us, median %6.2f us (%s, samples: %s)" % (name, took[0], took[len(took) // 2], sys.version.split()[0], s._source.via))
s.save_to_file = False
t = time.perf_counter()
s._finish()
print("%-22s %6.2f us a task" % ("stop", (time.perf_counter() - t) / N / rounds * 1e6))
