# Names that escape their expression, stars, and declarations of scope.
counter = 0


def bump():
    global counter, fresh
    counter += 1
    fresh = "fresh"
    return counter


def walrus(data):
    if any((hit := x) > 2 for x in data):
        pass
    rest = [y := 1, y ** 2, last := [z for z in data]]
    while (n := bump()) < 3:
        pass
    return hit, y, rest, n


def stars(*args, **kwargs):
    first, *middle, last = args
    (a, [b, *c]), *d = (1, [2, 3, 4]), 5
    return first, middle, last, a, b, c, d, {**kwargs, "x": 0}, [*args, *kwargs], f"{args}"


def star_return(rest): return 1, *rest


def positional(a, /, b, *, c): return a, b, c


def cell():
    v = 0

    def inc(by=1):
        nonlocal v
        v += by
        return v
    return inc


def loops():
    out = []
    for i in range(5):
        for j in range(5):
            if j == 2: break
            if i == 1: continue
            out.append((i, j))
        else:
            out.append("never")
    else:
        out.append("else")
    return out, i, j


def deleted():
    x = 1
    del x
    try:
        return x
    except UnboundLocalError as e:
        return type(e).__name__


def chained(a): return 1 < a < 3 < 5, not a, a if a else None, a and 0 or "z"


async def coroutine(): return await_me


await_me = print_ = 1
inc = cell()
print(walrus([1, 3, 2]), counter, fresh, stars(1, 2, 3, k=4), star_return((2, 3)), positional(1, b=2, c=3))
print(inc(), inc(5), inc.__closure__[0].cell_contents, loops(), deleted(), chained(2))
coroutine().close()
é = lambda ñ: ñ + "ü"; 变量 = é("中文"); print(变量, "😀" + é("x")); ok = lambda: 变量 or 1; print(ok())
