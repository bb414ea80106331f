"""A warehouse simulates its days: stock, orders, routes and prices.

The example of the README. It is an ordinary program of several files, with
packages, classes, generators, exceptions and threads, that works for a few
seconds and prints what it found.
"""
import sys

from shop import forecast, orders
from shop.pricing.rules import PriceBook
from shop.routes import Router
from shop.stock import OutOfStock, Stock


def simulate(days, seed):
    stock = Stock(items=200, seed=seed)
    book = PriceBook(stock.names())
    router = Router(side=24, seed=seed)
    sold = refused = 0
    for day in range(days):
        for order in orders.stream(day, stock.names(), count=60, seed=seed):
            try:
                stock.take(order)
                sold += book.total(order)
            except OutOfStock:
                refused += 1
        stock.refill(day)
        router.plan(stock.shelves(day))
    return stock, sold, refused, router.walked


def main(argv):
    days = int(argv[1]) if len(argv) > 1 else 600
    stock, sold, refused, walked = simulate(days, seed=7)
    print("days", days)
    print("sold", sold)
    print("refused", refused)
    print("walked", walked)
    for name, level in forecast.parallel(stock, workers=2):
        print("forecast", name, level)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
