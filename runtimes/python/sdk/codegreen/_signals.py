"""How a session ends with the program: signals, exits and forks."""
import atexit
import os
import signal
import sys
import threading

from . import _current

_handlers = {}  # signal -> (ours, what was there)


def _set(number, handler):
    """Sets a handler; False where it cannot be: in another thread than the main
    one, and in a subinterpreter."""
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        signal.signal(number, handler)
    except ValueError as e:
        if e.__traceback__.tb_next is not None:
            raise  # by a handler, which Python ran just now
        return False
    return True


def _put_back(left):
    """Sets handlers, (signal, ours, what was there), as they were, but for those that
    the program replaced since. If one of them runs and raises meanwhile, that goes
    on when all are back."""
    try:
        while left:
            number, ours, before = left[-1]
            if signal.getsignal(number) is ours:
                _set(number, before)
            left.pop()
    finally:
        if left:
            _put_back(left)


def catch():
    """Takes over what would end the program without its exit functions."""
    for number in signal.SIGTERM, signal.SIGINT:
        before = signal.getsignal(number)
        if before in (signal.SIG_IGN, None) or number == signal.SIGINT and before is signal.default_int_handler:
            continue  # KeyboardInterrupt comes to the exit functions
        ours = _handler(before)
        if not _set(number, ours):
            return
        _handlers[number] = ours, before


def _handler(before):
    def handle(number, frame):
        session = _current.session
        if session is not None and session._pid != os.getpid():
            session = None  # a fork that Python knows nothing of
        if callable(before):
            if session is not None:
                _quietly(session._flush)
            return before(number, frame)
        try:
            if session is not None:
                _quietly(session._finish, True)
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
    return handle


def release():
    """Puts back what was there, unless the program has set another since."""
    if threading.current_thread() is threading.main_thread():
        _put_back([(number, ours, before) for number, (ours, before) in _handlers.items()])
        _handlers.clear()


def _handled(number):
    return number, signal.getsignal(number)


class _Held:
    """Keeps signals back whose handlers are Python's: none of them runs, or raises,
    between hold and put_back. Only the main thread runs them."""

    def __init__(self, hurry):
        self.hurry, self.holding, self.heard = hurry, False, []
        self.before, self.left, self.ours = {}, [], self.note

    def hold(self):
        handled = map(_handled, signal.valid_signals())
        self.before = {number: handler for number, handler in handled if callable(handler)}
        for number, handler in self.before.items():
            self.left.append((number, self.ours, handler))
            if not _set(number, self.ours):
                return
        self.holding = True

    def note(self, number, frame):
        handler = self.before[number]
        if not self.holding:
            return handler(number, frame)
        if (number, handler) not in self.heard:
            self.heard.append((number, handler))
        self.hurry()

    def put_back(self, over):
        """Sets the handlers as they were; over: as they were before the session."""
        if over and self.left:
            was = {ours: before for ours, before in _handlers.values()}
            self.left = [(number, ours, was.get(handler, handler)) for number, ours, handler in self.left]
            _handlers.clear()
        _put_back(self.left)

    def give(self):
        """Runs the handlers of the signals that came."""
        try:
            self.holding = False
            while self.heard:
                number, handler = self.heard.pop(0)
                handler(number, sys._getframe())
        finally:
            if self.heard:
                self.give()


def undisturbed(session, f, *args):
    """Calls f(*args), and runs handlers of signals after it: they may raise."""
    held = _Held(session._hurry)
    try:
        held.hold()
        f(*args)
    finally:
        try:
            held.put_back(session._over)
        finally:
            held.give()


def plain(text):
    """The text with escapes in the place of what is not printed but obeyed by a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _quietly(f, *args):
    try:
        f(*args)
    except Exception as e:
        print("codegreen: %s: %s" % (type(e).__name__, plain(str(e))), file=sys.stderr)


def _exit():
    session, again = _current.session, None
    for _ in range(3):
        if session is None or session._over or session._pid != os.getpid():
            break
        try:
            session._finish(True)
        except BaseException as e:  # of a handler of the program, maybe before all began
            again = e
    if again is not None:
        raise again


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
    session, _current.session, _current.finished = _current.session, None, 0
    if session is not None:
        session._dead, session._running, session._ending = True, False, False
        session._data, session._edges = threading.RLock(), threading.RLock()
        session._source.forget()
        if session._gauges:
            session._gauges.forget()
    release()
    _after_fork()  # a signal that came meanwhile meets what was there before the session


atexit.register(_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


def level():
    """How many calls above this one the program's own line is, as warnings count them."""
    n, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(__package__ + "."):
        n, frame = n + 1, frame.f_back
    return n
