"""The shortest ways through the aisles."""
import heapq
import random


class Router:
    def __init__(self, side, seed):
        rng = random.Random(seed)
        self.side = side
        self.cost = [1 + (rng.random() < 0.25) * 4 for _ in range(side * side)]
        self.walked = 0

    def plan(self, shelves):
        """Walks from shelf to shelf, the nearest first."""
        here, left = 0, set(shelves)
        while left:
            distance = self.distances(here)
            here = min(left, key=lambda s: (distance[s], s))
            self.walked += distance[here]
            left.discard(here)

    def distances(self, start):
        """Dijkstra's algorithm."""
        best = [None] * len(self.cost)
        heap = [(0, start)]
        while heap:
            d, at = heapq.heappop(heap)
            if best[at] is not None:
                continue
            best[at] = d
            for n in self.neighbours(at):
                if best[n] is None:
                    heapq.heappush(heap, (d + self.cost[n], n))
        return best

    def neighbours(self, at):
        row, column = divmod(at, self.side)
        if row:
            yield at - self.side
        if column:
            yield at - 1
        if row + 1 < self.side:
            yield at + self.side
        if column + 1 < self.side:
            yield at + 1
