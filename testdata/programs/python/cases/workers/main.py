# not saved: each process reports
# skipped: a child reads its program from a pipe
# env: PYTHONWARNINGS=ignore
# Pools of processes and threads, whichever way they are started, with what they
# run at their beginning and their end; a fork in a thread, and of a fork.
import atexit
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading

import tasks_

initialized = None


def initialize(value):
    global initialized
    initialized = helper(value)


def helper(x):
    return x


def square(x):
    return x * x, initialized


def fails(x):
    raise LookupError(helper(x))


def gen(n):
    for i in range(n):
        yield helper(i)


class Child(multiprocessing.Process):
    def __init__(self, queue):
        super().__init__(name="child")
        self.queue = queue

    def run(self):
        try:
            self.queue.put((self.name, square(3), list(gen(2)), tasks_.work(1)))
            atexit.register(helper, 1)
        finally:
            helper(2)
            sys.exit(5)


def started(context):
    queue = context.SimpleQueue()
    c = context_child(context, queue)
    c.start()
    print(queue.get())
    c.join()
    print(c.exitcode)
    c = context.Process(target=os._exit, args=(6,))
    c.start()
    c.join()
    print(c.exitcode)


def context_child(context, queue):
    return {"fork": Child, "spawn": SpawnChild, "forkserver": ServerChild}[context.get_start_method()](queue)


class SpawnChild(Child, multiprocessing.get_context("spawn").Process): pass
class ServerChild(Child, multiprocessing.get_context("forkserver").Process): pass


def pooled(context):
    with concurrent.futures.ProcessPoolExecutor(2, context, initialize, ("ready",)) as pool:
        print(list(pool.map(square, range(4), chunksize=2)), pool.submit(tasks_.work, 4).result())
        try:
            pool.submit(fails, 1).result()
        except LookupError as e:
            print(repr(e), type(e.__cause__).__name__, "in fails" in str(e.__cause__), "main.py\", line" in str(e.__cause__))
    with context.Pool(2, initialize, ("pool",)) as pool:
        print(sorted(pool.imap_unordered(square, range(3))), pool.starmap(pow, [(2, 3)]), pool.apply_async(tasks_.work, (5,)).get())
        pool.close()
        pool.join()


def forked_in_thread():
    status = []

    def run():
        pid = os.fork()
        if pid == 0:
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(helper(3))
            os._exit(os.waitpid(grandchild, 0)[1] >> 8 | helper(4))
        status.append(os.waitpid(pid, 0)[1] >> 8)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    return status


def forked_in_generator():
    def g():
        yield 1
        pid = os.fork()
        yield pid
        helper(9)
    it = g()
    next(it)
    pid = next(it)
    if pid == 0:
        list(it)
        os._exit(len(list(gen(3))))
    return os.waitpid(pid, 0)[1] >> 8, list(it)


def others():
    for args in ["true"], ["sh", "-c", "exit 3"], [sys.executable, "-c", "print('c')"], [sys.executable, "-m", "tasks_"], [sys.executable, "-"]:
        r = subprocess.run(args, stdout=subprocess.PIPE, input=b"print('standard input')\n", cwd=os.path.dirname(os.path.abspath(__file__)))
        print(r.returncode, r.stdout)
    with concurrent.futures.ThreadPoolExecutor(4, "t", initialize, ("thread",)) as pool:
        print(list(pool.map(square, range(3))), list(pool.map(lambda n: list(gen(n)), range(3))))


if __name__ == "__main__":
    for method in "fork", "spawn", "forkserver":
        print(method)
        started(multiprocessing.get_context(method))
        pooled(multiprocessing.get_context(method))
    print(forked_in_thread(), forked_in_generator())
    others()
    with multiprocessing.Manager() as manager:
        print(manager.list([1, 2])[1])
