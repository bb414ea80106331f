# SystemExit with a message goes to stderr, the status is 1.
import sys


def leave(message):
    raise SystemExit(message)


try:
    leave(None)
except SystemExit as e:
    print(e.code, repr(e))
try:
    sys.exit()
except SystemExit as e:
    print(e.code)
leave("stopped: no reason given")
