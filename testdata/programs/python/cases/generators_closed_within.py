# A generator that closes another one of the same function, or lets it be
# collected, goes on running itself: the exit of the suspended frame is not its
# own.
import gc


def gen(n):
    if n:
        inner = gen(0)
        next(inner)
        inner.close()
        other = gen(0)
        next(other)
        del other
        gc.collect()
        try:
            third = gen(0)
            next(third)
            third.throw(ValueError("in"))
        except ValueError as e:
            print("caught", e)
    try:
        yield n
        yield n + 1
    finally:
        print("end", n)


def walk(tree):
    yield tree[0]
    for child in tree[1:]:
        yield from walk(child)


def first(it):
    for x in it:
        return x


print(list(gen(1)))
print(first(walk([1, [2, [3]], [4]])))
w = walk([1, [2, [3]], [4]])
print(next(w), next(w), next(w))
w.close()
print(sum(walk([1, [2, [3]], [4]])))
