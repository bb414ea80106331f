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
    s = send(op, parts)
    try:
        return receive(s, []).split(b"\0")
    finally:
        s.close()


def ask_to_weave(parts, work):
    """Sends the parts of a source. If cg wants it, does some work meanwhile and sends the
    bytes that it gives. Returns the answer: its first part, and the others as they
    were sent."""
    s = send("weave", parts)
    try:
        first = s.recv(65536)
        if first == b"go\n":
            done = work()
            s.sendall(b"%d\n" % len(done) + done)
            first = b""
        kind, _, others = receive(s, [first]).partition(b"\0")
        return kind, others
    finally:
        s.close()


def send(op, parts):
    """A connection on which an operation and its parts are sent."""
    # No generator: in one, a StopIteration of a signal handler would get lost.
    body = b"\0".join([p if isinstance(p, bytes) else p.encode("utf-8", "surrogateescape") for p in parts])
    s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        s.settimeout(30)
        s.connect(run.server)
        s.sendall(("%s\t%d\n" % (op, len(body))).encode() + body)
        return s
    except BaseException:
        s.close()
        raise


def receive(s, got):
    """All that comes on a connection, behind what has come."""
    while True:
        b = s.recv(262144)
        if not b:
            return b"".join(got)
        got.append(b)


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
