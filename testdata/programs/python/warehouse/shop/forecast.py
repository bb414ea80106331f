"""What will be on the shelves, by smoothing what was; in threads."""
import queue
import threading


def smooth(values, alpha):
    """Yields the smoothed series."""
    level = float(values[0])
    for v in values:
        level += alpha * (v - level)
        yield level


def error(values, alpha):
    total, guess = 0.0, float(values[0])
    for v, s in zip(values, smooth(values, alpha)):
        total += (v - guess) ** 2
        guess = s
    return total


def fit(values):
    """The smoothing that would have been right most often."""
    return min((error(values, k / 20), k / 20) for k in range(1, 20))[1]


def worker(jobs, done, stock):
    while True:
        name = jobs.get()
        if name is None:
            return
        values = stock.history(name)
        alpha = fit(values)
        *_, last = smooth(values, alpha)
        done.put((name, round(last, 3)))


def parallel(stock, workers):
    """The three items that will be the scarcest."""
    jobs, done = queue.Queue(), queue.Queue()
    threads = [threading.Thread(target=worker, args=(jobs, done, stock)) for _ in range(workers)]
    for t in threads:
        t.start()
    names = stock.names()
    for name in names:
        jobs.put(name)
    for t in threads:
        jobs.put(None)
    for t in threads:
        t.join()
    found = [done.get() for _ in names]
    return sorted(found, key=lambda pair: (pair[1], pair[0]))[:3]
