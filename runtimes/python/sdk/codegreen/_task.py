"""codegreen.task: a decorator that makes each call of a function a task."""
import functools
from time import monotonic_ns

from . import _current


def task(name=None):
    """Makes each call of a function a task of the active session; without one
    the function is called as it is.

        @codegreen.task                # named like the function
        @codegreen.task("name")

    Of a generator, a coroutine or an asynchronous generator it is the time
    in which it runs, from its first step to its last.
    """
    if callable(name) or isinstance(name, (staticmethod, classmethod)):
        return _decorated(name, None)
    return lambda function: _decorated(function, name)


GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200  # docs.python.org/3/library/inspect.html, code objects


def _kind(function):
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return getattr(code, "co_flags", 0)


def _decorated(function, name):
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorated(function.__func__, name))
    name = name or getattr(function, "__qualname__", getattr(function, "__name__", type(function).__name__))
    kind = _kind(function)
    if kind & ASYNC_GENERATOR:
        @functools.wraps(function)
        async def wrapper(*args, **kwargs):
            run = _Run(name)
            source = function(*args, **kwargs)
            try:
                step = source.__anext__()
                while True:
                    try:
                        value = await _Stepping(run, step)
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                    except GeneratorExit:
                        await _Stepping(run, source.aclose())
                        raise
                    except BaseException as e:
                        step = source.athrow(e)
                    else:
                        step = source.asend(sent)
            finally:
                run.end()
    elif kind & COROUTINE:
        @functools.wraps(function)
        async def wrapper(*args, **kwargs):
            run = _Run(name)
            try:
                return await _Stepping(run, function(*args, **kwargs))
            finally:
                run.end()
    elif kind & GENERATOR:
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            run = _Run(name)
            try:
                return (yield from _steps(run, function(*args, **kwargs)))
            finally:
                run.end()
    else:
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            session = _current.session
            if session is None or not session._running:
                return function(*args, **kwargs)
            with session.task(name):
                return function(*args, **kwargs)
    return wrapper


class _Run:
    """A task that runs in steps."""
    __slots__ = "name", "session", "task", "aside"

    def __init__(self, name):
        self.name, self.session, self.task, self.aside = name, None, None, None

    def go(self):
        if self.task is None:
            session = _current.session
            if session is not None and session._running:
                self.session, self.task = session, session._begin(self.name)
        elif self.aside:
            aside, self.aside = self.aside, None
            self.session._resume(aside)

    def rest(self):
        if self.task is not None and self.aside is None:
            self.aside = self.session._suspend(self.task)

    def end(self):
        if self.task is None:
            return
        if self.aside:  # it rests: the end of its last step is its end
            session = self.session
            if session._running and not session._dead:
                for t in self.aside:
                    t.ended_at_mono_ns, t._aside, t.forgotten = t._windows[-1][1], None, t is not self.task
        else:
            self.session._leave(monotonic_ns(), self.task)
        self.task = self.aside = None


def _steps(run, inner):
    """A generator that runs inner, whose steps are those of the task."""
    send, throw = inner.send, getattr(inner, "throw", None)
    action, value = send, None
    while True:
        run.go()
        try:
            given = action(value)
        except StopIteration as e:
            return e.value
        finally:
            run.rest()
        try:
            value = yield given
            action = send
        except GeneratorExit:
            run.go()
            try:
                inner.close()
            finally:
                run.rest()
            raise
        except BaseException as e:
            if throw is None:
                raise
            action, value = throw, e


class _Stepping:
    """Awaits something, step by step."""
    __slots__ = "run", "inner"

    def __init__(self, run, inner):
        self.run, self.inner = run, inner

    def __await__(self):
        inner = self.inner
        return _steps(self.run, inner if hasattr(inner, "send") else inner.__await__())
