"""Orders of a day, one after the other."""
import random
from dataclasses import dataclass, field


@dataclass
class Order:
    number: int
    lines: list = field(default_factory=list)

    @property
    def pieces(self):
        return sum(n for _, n in self.lines)


def stream(day, names, count, seed):
    """Yields the day's orders."""
    rng = random.Random(seed * 100003 + day)
    for number in range(count):
        order = Order(number)
        for name in rng.sample(names, 5):
            order.lines.append((name, rng.randint(1, 18)))
        yield order
