def f():
    """Documented."""
    assert True
    return f.__doc__, __debug__


def fails():
    return 1 / 0
