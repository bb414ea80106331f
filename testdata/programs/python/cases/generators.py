# A generator leaves and comes back at each yield, wherever a yield can stand.
def count(n):
    for i in range(n):
        got = yield i
        if got:
            print("got", got)
    return "done"


def delegate():
    result = yield from count(2)
    print("result", result)
    yield from "ab"
    yield from delegate_more()


def delegate_more():
    yield
    x = yield
    yield x


def everywhere():
    print((yield 1), (yield 2), [(yield 3), (yield 4)], {"k": (yield 5)})
    x = yield
    y = (yield 6) + (yield 7)
    x, y = yield 8, 9
    f"{(yield 10)}"
    if (yield 11):
        pass
    while not (yield 12):
        pass
    for _ in (yield 13):
        pass
    with (yield 14):
        pass
    lambda_made = lambda: (yield 15)
    yield from lambda_made()
    assert (yield 16) or True, (yield 17)
    del (yield 18)[0]
    x = y = yield 19
    x += yield 20
    return (yield 21)


class Context:
    def __enter__(self): return self
    def __exit__(self, *e): return False


def tree(n):
    if n:
        yield from tree(n - 1)
        yield n
        yield from tree(n - 1)


def starred():
    args = [1, 2]
    yield *args, 3
    print(*(yield 1), sep=(yield 2))


g = count(3)
print(next(g), g.send("a"), next(g))
try:
    next(g)
except StopIteration as e:
    print("stop", e.value)
print(list(delegate()))
g = everywhere()
value = next(g)
sent = {13: [1], 14: Context(), 8: (1, 2), 12: True, 18: [1], 20: 1, 6: 1, 7: 2, 19: 1}
while True:
    try:
        value = g.send(sent.get(value if not isinstance(value, tuple) else value[0], "s"))
        print(value)
    except StopIteration as e:
        print("stop", e.value)
        break
print(list(tree(3)), sum(x * x for x in count(4)), [a for a in (b for b in count(3))])
s = starred()
print(next(s), next(s), s.send("xy"), list(s.send("-") for _ in ()))
try:
    s.send("-")
except StopIteration:
    pass
