# not saved: "python -I" does not find the module beside the script
# Scripts that a program starts are programs like it.
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))


def run(*args):
    r = subprocess.run([sys.executable, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, cwd=here)
    print(r.returncode, r.stdout, r.stderr)


run(os.path.join(here, "other.py"), "a")
run("other.py", "fail")
run("-m", "other")
run("-c", "import other; print(other.f('x'))")
run("-I", "other.py")
run("-E", "other.py")
run("-S", "other.py")
run("-O", "-B", "other.py", "b")
