# Tracebacks of chained exceptions, carets and all, show what was written.
import functools


class Refused(Exception):
    pass


def parse(text):
    return int(text) + (1 /
                        0)


def load(text):
    try:
        return parse(text)
    except ValueError as e:
        raise Refused("bad " + text) from e


def retry(texts):
    try:
        return [load(t) for t in texts]
    except Refused:
        return {k: (lambda v: v.missing + undefined)(k) for k in texts}


def via_generator():
    yield from (retry([t]) for t in ["x"])


@functools.lru_cache()
def decorated():
    with open(__file__):
        for _ in via_generator():
            pass


decorated()
