from . import order
order.append("b")
from . import a


def back():
    return hasattr(a, "use"), __name__
