# not saved: it ends without reporting
# unbalanced: the process ends by a signal that cannot be caught
import os
import signal


def die():
    os.kill(os.getpid(), signal.SIGKILL)


print("before", flush=True)
die()
