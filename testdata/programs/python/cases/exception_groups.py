# needs 3.11
# except* runs several handlers for one exception; each finds its frame running.
def fails(*kinds):
    raise ExceptionGroup("several", [k("m") for k in kinds])


def split(*kinds):
    out = []
    try:
        fails(*kinds)
    except* ValueError as e:
        out.append(("value", len(e.exceptions)))
    except* (KeyError, TypeError) as e:
        out.append(("other", len(e.exceptions)))
    else:
        out.append("else")
    finally:
        out.append("finally")
    return out


print(split(ValueError, KeyError, ValueError), split(TypeError))
try:
    split(OSError, ValueError)
except ExceptionGroup as e:
    print(repr(e))
fails(OSError, ValueError)
