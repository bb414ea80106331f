# not saved: a process reports
# Where compiled modules are kept is the program's choice: beside the source,
# elsewhere, or nowhere. What it says of itself is the same.
import importlib.util
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
CHILD = """
import sys
sys.path.insert(0, %r)
import mod
print(mod.f(), mod.__cached__ and mod.__cached__.replace(%r, "HERE"), mod.__spec__.cached == mod.__cached__, mod.__spec__.has_location, sys.dont_write_bytecode, sys.pycache_prefix)
try:
    mod.fails()
except ZeroDivisionError as e:
    print(e.__traceback__.tb_next.tb_lineno, e.__traceback__.tb_next.tb_frame.f_code.co_filename == mod.__file__)
""" % (here, here)


def run(*args, **env):
    env = {**{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}, **env}
    for _ in range(2):
        r = subprocess.run([sys.executable, *args, "-c", CHILD], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(args, r.returncode, r.stdout.decode().replace(here, "HERE"))


run()
run("-B")
run(PYTHONPYCACHEPREFIX=os.path.join(here, "kept"))
run("-X", "pycache_prefix=" + os.path.join(here, "elsewhere"))
run("-O")
run("-OO")
run("-W", "error")
run("-X", "importtime" if False else "dev")
run("--check-hash-based-pycs", "always")
sys.dont_write_bytecode = False
import mod
print(mod.f(), importlib.util.cache_from_source(mod.__file__) == mod.__cached__)
