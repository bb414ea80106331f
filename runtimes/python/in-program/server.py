"""Talks to cg: one request a connection, so that a fork shares nothing. It
takes an operation with its parts and returns the parts of the answer
(instrument.Server describes them). OSError when cg cannot be reached.
"""
import _socket
import _thread
import os

from .run import run


def ask(op, *parts):
    """Sends an operation and its parts; returns the parts of the answer."""
    # No generator: in one, a StopIteration of a signal handler would get lost.
    body = b"\0".join([p if isinstance(p, bytes) else p.encode("utf-8", "surrogateescape") for p in parts])
    s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        s.settimeout(30)
        s.connect(run.server)
        s.sendall(("%s\t%d\n" % (op, len(body))).encode() + body)
        got = []
        while True:
            b = s.recv(65536)
            if not b:
                break
            got.append(b)
    finally:
        s.close()
    return b"".join(got).split(b"\0")


def tell(*parts):
    """Sends what needs no answer; that cg cannot be reached is no error."""
    try:
        ask(*parts)
    except OSError:
        pass


def take(first, parent, lost, new, n):
    """Chunks of the channel for this thread, n at the most: their offsets in the
    file, in the order of use, none if there are none. parent is (pid, tid, fork
    tick) of the thread that forked this one, if any; lost events have found no
    chunk since the last one, new of them untold."""
    answer = ask("chunk", str(os.getpid()), str(_thread.get_native_id()), "1" if first else "0",
                 *[str(n) for n in parent or (0, 0, 0)], str(lost), str(new), str(n))
    return [int(offset) for offset in answer[1].split()] if answer[0] == b"ok" else []
