# sys.exit below several frames: the status is its argument, and every frame
# is closed on the way.
import atexit
import sys


def leave():
    try:
        sys.exit(7)
    finally:
        print("finally")


def caller():
    leave()


atexit.register(lambda: print("atexit"))
try:
    caller()
except SystemExit as e:
    print("caught", e.code)
caller()
