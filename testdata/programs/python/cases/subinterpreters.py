# Interpreters of one process have modules, builtins and types of their own.
import os
import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SOURCE = """
import sys
sys.path.insert(0, %r)
def f(): return [x for x in range(3)]
import json
print("inside", f(), json.dumps(f()), flush=True)
"""


def run():
    i = interpreters.create()
    interpreters.run_string(i, SOURCE % os.path.dirname(os.path.abspath(__file__)))
    interpreters.destroy(i)
    return "destroyed"


sys.stdout.flush()
print(run(), run())
