# A child made by fork goes on in the middle of its parent's frames.
import os
import sys


def child(n):
    return n * 2


def split():
    pid = os.fork()
    if pid == 0:
        print("child", child(2), flush=True)
        return None
    _, status = os.waitpid(pid, 0)
    return os.WEXITSTATUS(status)


def replaced():
    pid = os.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", "print('replaced', flush=True)"])
    return os.waitpid(pid, 0)[1]


sys.stdout.flush()
got = split()
if got is None:
    sys.exit(child(3))
print("parent", got, replaced())
