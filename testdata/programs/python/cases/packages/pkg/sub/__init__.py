from ..a import order


def deep():
    from .. import b
    return b.__name__, len(order)
