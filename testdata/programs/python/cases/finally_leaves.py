# Leaving a finally block gives a warning from 3.14 on (PEP 765), and still works.
def returns():
    try:
        raise KeyError(1)
    finally:
        return "returned"


def continues(n):
    for i in range(n):
        try:
            1 / 0
        finally:
            continue
    return n


def breaks():
    while True:
        try:
            yield 1
        finally:
            break
    yield 2


print(returns(), continues(3))
g = breaks()
print(next(g), end=" ")
try:
    print(g.throw(ValueError("gone")))
finally:
    g.close()
