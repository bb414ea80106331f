# A with block hides an exception from the function around it: frames below
# are gone although no handler of the function ran.
import contextlib


@contextlib.contextmanager
def managed(swallow):
    print("in")
    try:
        yield "value"
    except KeyError as e:
        print("seen", e)
        if not swallow:
            raise
    finally:
        print("out")


class Nested(contextlib.ExitStack):
    pass


def fails():
    raise KeyError("k")


def swallowed():
    with managed(True) as v:
        print(v)
        fails()
    return "after"


def passed():
    with managed(False):
        fails()


def returns():
    with managed(True), managed(False):
        return "from inside"


print(swallowed())
try:
    passed()
except KeyError as e:
    print("passed", e)
print(returns())
with Nested() as stack:
    stack.callback(lambda: print("callback"))
    stack.enter_context(managed(True))
    fails()
with contextlib.suppress(KeyError):
    fails()
print(contextlib.closing.__name__)
