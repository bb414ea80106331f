__all__ = ["g"]


def g():
    return "g"


def hidden():
    pass
