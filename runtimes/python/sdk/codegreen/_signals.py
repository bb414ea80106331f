"""How a session ends with the program: signals, exits and forks."""
import atexit
import os
import signal
import sys
import threading

from . import _session

_handlers = {}  # signal -> (ours, what was there)


def catch():
    """Takes over what would end the program without its exit functions."""
    for number in signal.SIGTERM, signal.SIGINT:
        try:
            before = signal.getsignal(number)
            if before in (signal.SIG_IGN, None) or number == signal.SIGINT and before is signal.default_int_handler:
                continue  # KeyboardInterrupt comes to the exit functions
            ours = _handler(before)
            signal.signal(number, ours)
            _handlers[number] = ours, before
        except (ValueError, OSError):
            return  # not the main thread


def _handler(before):
    def handle(number, frame):
        session = _session._active
        if session is not None and session._pid != os.getpid():
            session = None  # a fork that Python knows nothing of
        if callable(before):
            if session is not None:
                _quietly(session._flush)
            return before(number, frame)
        if session is not None:
            _quietly(session._finish, True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return handle


def release():
    """Puts back what was there, unless the program has set another since."""
    for number, (ours, before) in list(_handlers.items()):
        try:
            if signal.getsignal(number) is ours:
                signal.signal(number, before)
            del _handlers[number]
        except (ValueError, OSError, TypeError):
            pass


def _quietly(f, *args):
    try:
        f(*args)
    except Exception as e:
        print("codegreen: %s: %s" % (type(e).__name__, e), file=sys.stderr)


def _exit():
    session = _session._active
    if session is not None and (session._running or session._ending) and session._pid == os.getpid():
        _quietly(session._finish, True)


_forking = threading.local()  # mask: the signals that were blocked before a fork


def _before_fork():
    """Blocks the signals that are handled here: a child has the handler, too, until
    _in_child, and what only marks a signal for later is forgotten by the fork."""
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, list(_handlers)) if _handlers else None


def _after_fork():
    mask, _forking.mask = getattr(_forking, "mask", None), None
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _in_child():
    session, _session._active, _session._finished = _session._active, None, 0
    if session is not None:
        session._dead, session._running, session._ending = True, False, False
        session._data, session._edges = threading.RLock(), threading.RLock()
        session._source.forget()
    release()
    _after_fork()  # a signal that came meanwhile meets what was there before the session


atexit.register(_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
