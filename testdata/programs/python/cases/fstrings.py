# needs 3.12
# f-strings that nest quotes, lines and each other (PEP 701).
def f(x):
    return f"{x!r:>{10}} {f"{f'{x}'}"} {
        x  # a comment
    } {'\n'.join(["a", "b"])} {(lambda: f"{x}")()} {{}} {x=} {"}" + '"'}"


def g():
    y = f"{(yield f"{1}")}"
    return f'{y:{"<"}5}|'


print(f("s"))
i = g()
print(next(i))
try:
    i.send("in")
except StopIteration as e:
    print(e.value)
