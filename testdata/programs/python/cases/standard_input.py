# The standard streams keep their encodings, and bytes pass through.
import io
import sys


def echo():
    for line in sys.stdin:
        sys.stdout.write(line)
    sys.stdout.buffer.write(b"\xff\x00\n") if hasattr(sys.stdout, "buffer") else None
    print(sys.stdin.encoding, sys.stdout.encoding, sys.stdout.isatty(), file=sys.stderr)


echo()
