# not saved: its lines move
# Exceptions pass frames that tell nothing of their end; what handlers see and
# what "return" in a finally throws away must be what it was.
import sys
import traceback


def fails(x):
    return 1 / x


def through(x):
    return fails(x)


def handled():
    try:
        through(0)
    except ZeroDivisionError as e:
        return str(e), sys.exc_info()[1] is e, e.__traceback__.tb_next.tb_frame.f_code.co_name


def in_flight():
    try:
        try:
            fails(0)
        finally:
            print("in flight", sys.exc_info()[0].__name__)
    except ArithmeticError:
        print("outside")
    print("none", sys.exc_info())


def nested():
    try:
        try:
            fails(0)
        except KeyError:
            print("not this")
        else:
            print("nor this")
    except (ValueError, ZeroDivisionError) as e:
        try:
            raise LookupError("second") from e
        except LookupError as f:
            return type(f.__cause__).__name__, type(f.__context__).__name__
    return "nor here"


def swallows():
    for i in range(3):
        try:
            fails(0)
        except ZeroDivisionError:
            continue
        finally:
            if i == 2:
                break
    while True:
        try:
            return "first"
        finally:
            break
    return "second"


def reraises():
    try:
        fails(0)
    except ZeroDivisionError:
        raise


def implicit():
    try:
        fails(0)
    except ZeroDivisionError:
        undefined_name


def else_and_finally(x):
    try:
        r = fails(x)
    except ZeroDivisionError:
        return "except"
    else:
        return "else %s" % r
    finally:
        print("finally")


class Own(Exception):
    def __init__(self, code):
        super().__init__("own %d" % code)
        self.code = code


def raise_own():
    raise Own(3)


print(handled())
in_flight()
print(nested(), swallows(), else_and_finally(0), else_and_finally(4))
for f in reraises, implicit, raise_own:
    try:
        f()
    except Exception as e:
        print(type(e).__name__, e, type(e.__context__).__name__, getattr(e, "code", None))
        traceback.print_exc()
        print("".join(traceback.format_exception(type(e), e, e.__traceback__)))
try:
    assert handled() is None, "message"
except AssertionError as e:
    print(e)
