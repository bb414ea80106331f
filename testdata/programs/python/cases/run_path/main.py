# not alike: a file under two names tells the later one
# Programs that run programs: runpy compiles a path itself and loads a module
# like an import does.
import os
import runpy
import sys

here = os.path.dirname(os.path.abspath(__file__))
print(sorted(k for k in runpy.run_path(os.path.join(here, "tool.py"), run_name="ran") if not k.startswith("__")))
result = runpy.run_module("tool", {"given": 1}, "as_module", alter_sys=True)
print(result["__name__"], result["given"], result["f"](), sys.argv[0] == __file__ or os.path.basename(sys.argv[0]))
exec(compile(open(os.path.join(here, "tool.py")).read(), "tool.py", "exec"), {"__name__": "executed"})
