# env: PYTHONWARNINGS=ignore
# A fork by a thread that is not the first: in the child the other threads are
# gone, and what they had is still the parent's, which goes on with it.
import os
import threading


def helper(x):
    return x


def forked():
    status = []

    def run():
        pid = os.fork()
        if pid == 0:
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(helper(3))
            os._exit(os.waitpid(grandchild, 0)[1] >> 8 | helper(4))
        status.append(os.waitpid(pid, 0)[1] >> 8)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return status


print(forked(), helper(1))
