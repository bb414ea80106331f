"""annotate_request: tells a cg monitor which requests begin and end (docs/monitor.md of cg)."""
import atexit
import functools
import itertools
import json
import os
import socket as sockets
import threading
import time
from collections import deque

from ._spec import REQUEST_NAME_MOST, REQUEST_RETRY_NS, REQUEST_SOCKET_VARIABLE, REQUEST_UNSENT_MOST
from ._task import ASYNC_GENERATOR, COROUTINE, GENERATOR, _kind

_connections = {}  # by the path of the socket
_making = threading.RLock()
_WITHOUT_SIGNAL = getattr(sockets, "MSG_NOSIGNAL", 0)  # SIGPIPE ends a program that does not ignore it


def line(number, name, at_us, tid, cpu_ns):
    """What is said of a request: that it begins, or with None as the name, that it ends. Times are since 1970;
    tid is 0 and cpu_ns negative where they are not known."""
    fields = ['"annotate":"request","id":%d' % number]
    if name is not None:
        name = str(name).strip()[:REQUEST_NAME_MOST] or "?"
        fields.append('"name":' + json.dumps(name))
    fields.append('"%s":%d.%06d' % ("end" if name is None else "begin", at_us // 1000000, at_us % 1000000))
    if tid > 0:
        fields.append('"tid":%d' % tid)
        if cpu_ns >= 0:
            fields.append('"cpu":%d.%09d' % (cpu_ns // 1000000000, cpu_ns % 1000000000))
    return ("{" + ",".join(fields) + "}\n").encode("ascii")


def _thread():
    """This thread's number of the kernel, 0 where there is none, and what it has used in ns."""
    try:
        return threading.get_native_id(), time.thread_time_ns()
    except (AttributeError, OSError):
        return 0, -1


class _Connection:
    """Says lines at a socket. Nobody waits for who listens: what does not fit is dropped, and counted."""

    def __init__(self, path):
        self.path, self.dropped, self.serial = path, 0, 0
        self.numbers = itertools.count(1)
        self.forget()

    def forget(self):
        """Begins anew, as a child that was forked does."""
        self.lock = threading.RLock()  # a signal's handler may come in between
        self.socket, self.tried, self.unsent = None, None, deque()
        self.serial += 1

    def close(self):
        """Ends the connection; who listens ends its requests."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        self.unsent.clear()
        self.serial += 1

    def connected(self):
        if self.socket is not None:
            return True
        now = time.monotonic_ns()
        if self.tried is not None and now - self.tried < REQUEST_RETRY_NS:
            return False
        self.tried, s = now, None
        try:
            s = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
            s.setblocking(False)
            s.connect(self.path)
        except (OSError, ValueError, AttributeError):  # nobody listens; no path; not Unix
            if s is not None:
                s.close()
            return False
        self.socket = s
        return True

    def write(self, text):
        """Whether a line was taken, whole."""
        s = self.socket
        if s is None:
            return False
        try:
            sent = s.send(text, _WITHOUT_SIGNAL)
        except BlockingIOError:
            return False
        except OSError:
            self.close()
            return False
        if sent < len(text):  # half a line: who listens ends the requests
            self.close()
            return False
        return True

    def flush(self):
        """Says the ends that did not fit before; whether none is left."""
        while self.unsent:
            try:
                text = self.unsent.popleft()  # before it is said: a signal's handler says the others
            except IndexError:  # and it has
                break
            if not self.write(text):
                if self.socket is not None:
                    self.unsent.appendleft(text)
                break
        return not self.unsent

    def begin(self, name):
        tid, cpu = _thread()
        with self.lock:
            number = next(self.numbers)
            if self.connected() and self.flush() and self.write(
                    line(number, name, time.time_ns() // 1000, tid, cpu)):
                return self.serial, number, tid
            self.dropped += 1
            return None

    def end(self, begun):
        serial, number, began_on = begun
        tid, cpu = _thread()
        if tid != began_on:  # another thread's time says nothing of it
            tid, cpu = began_on, -1
        with self.lock:
            if serial != self.serial:
                return
            text = line(number, None, time.time_ns() // 1000, tid, cpu)
            if self.flush() and self.write(text) or serial != self.serial:
                return
            if len(self.unsent) >= REQUEST_UNSENT_MOST:
                self.dropped += 1
                self.close()
                return
            self.unsent.append(text)


def _to(path):
    """The connection to a socket, or to that of CG_SOCKET; None where there is none."""
    if path is None:
        path = os.environ.get(REQUEST_SOCKET_VARIABLE)
    if not path:
        return None
    path = os.fspath(path)
    found = _connections.get(path)
    if found is None:
        with _making:
            found = _connections.setdefault(path, _Connection(path))
    return found


def _forked():
    global _making
    _making = threading.RLock()
    for c in _connections.values():
        if c.socket is not None:
            c.socket.close()  # the child's copy: the parent's stays
        c.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@atexit.register
def _leave():
    for c in list(_connections.values()):
        with c.lock:
            c.flush()
            c.close()


def dropped_annotations():
    """How many beginnings and ends of requests could not be said, since nobody listened or took them."""
    return sum(c.dropped for c in list(_connections.values()))


class annotate_request:
    """Tells cg monitor that a request begins and ends.

        with codegreen.annotate_request("GET /cart"):
            ...

        @codegreen.annotate_request("GET /cart")   # functions, coroutines, generators
        async def cart(): ...

    One object may be entered many times, inside itself and by several threads.

    name    the route, not the single request
    socket  what cg monitor --socket names; else CG_SOCKET. Without one nothing is done.

    It never waits, and never raises but for a socket that is no path (TypeError).
    """
    __slots__ = "name", "socket", "_to", "_open"

    def __init__(self, name, socket=None):
        self.name, self.socket, self._to, self._open = name, socket, None, {}

    def __enter__(self):
        to = _to(self.socket)
        if to is not None:
            begun = to.begin(self.name)
            self._to = to
            self._open.setdefault(threading.get_ident(), []).append(begun)
        return self

    def __exit__(self, *_):
        me = threading.get_ident()
        if me not in self._open:  # another thread leaves what one has entered
            me = next(iter(list(self._open)), None)
        mine = self._open.get(me)
        if mine:
            begun = mine.pop()
            if not mine:
                self._open.pop(me, None)
            if begun is not None:
                self._to.end(begun)
        return False

    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, *error):
        return self.__exit__(*error)

    def __call__(self, function):
        name, socket = self.name, self.socket
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__))
        kind = _kind(function)
        if kind & ASYNC_GENERATOR:
            @functools.wraps(function)
            async def wrapper(*args, **kwargs):
                with annotate_request(name, socket):
                    source = function(*args, **kwargs)
                    try:
                        async for value in source:
                            yield value
                    finally:
                        await source.aclose()
        elif kind & COROUTINE:
            @functools.wraps(function)
            async def wrapper(*args, **kwargs):
                with annotate_request(name, socket):
                    return await function(*args, **kwargs)
        elif kind & GENERATOR:
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                with annotate_request(name, socket):
                    return (yield from function(*args, **kwargs))
        else:
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                with annotate_request(name, socket):
                    return function(*args, **kwargs)
        return wrapper
