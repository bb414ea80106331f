import sys
from . import helper


def main():
    spec = sys.modules["__main__"].__spec__
    print(__name__, __package__, spec.name, sys.argv[1:], __file__ == sys.argv[0], type(__loader__).__name__, sys.path[0])
    return helper.help()


if __name__ == "__main__":
    main()
    raise LookupError("traceback of -m")
