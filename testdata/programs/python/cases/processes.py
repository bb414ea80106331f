# Worker processes run functions of the script, forked or started anew.
import multiprocessing
import sys


def square(x):
    return x * x


class Worker:
    def __call__(self, x):
        return square(x) + 1


def main(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        print(method, pool.map(square, range(5)), pool.apply(Worker(), (3,)))
        pool.close()
        pool.join()
    queue = context.SimpleQueue()
    p = context.Process(target=put, args=(queue, method))
    p.start()
    print(queue.get())
    p.join()
    print(p.exitcode)
    sys.stdout.flush()


def put(queue, value):
    queue.put((__name__, value, square(3)) if value == "fork" else (value, square(4)))


if __name__ == "__main__":
    for method in "fork", "spawn", "forkserver":
        main(method)
