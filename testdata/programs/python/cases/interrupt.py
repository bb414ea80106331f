# An interrupt that nobody handles ends the process by the signal, so that the
# shell sees it, with the frames closed on the way.
import os
import signal


def wait():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000000):
        pass


try:
    wait()
except KeyboardInterrupt:
    print("caught", flush=True)
wait()
