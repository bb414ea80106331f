"""What lies in the warehouse."""
import random


class OutOfStock(Exception):
    pass


class Stock:
    def __init__(self, items, seed):
        rng = random.Random(seed)
        self._level = {"item-%03d" % i: rng.randint(50, 400) for i in range(items)}
        self._history = {name: [] for name in self._level}

    def names(self):
        return sorted(self._level)

    def take(self, order):
        for name, pieces in order.lines:
            if self._level[name] < pieces:
                raise OutOfStock(name)
        for name, pieces in order.lines:
            self._level[name] -= pieces

    def refill(self, day):
        for name, level in self._level.items():
            self._history[name].append(level)
            if level < 40:
                self._level[name] = level + self._lot(name, day)

    def _lot(self, name, day):
        return 60 + checksum("%s/%d" % (name, day)) % 90

    def shelves(self, day):
        low = sorted(self._level, key=lambda name: (self._level[name], name))
        return [checksum(name) % 576 for name in low[: 6 + day % 5]]

    def history(self, name):
        return self._history[name]


def checksum(text):
    """Adler-32, written out: a small hot function."""
    a, b = 1, 0
    for c in text.encode():
        a = (a + c) % 65521
        b = (b + a) % 65521
    return b << 16 | a
