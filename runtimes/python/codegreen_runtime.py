"""Checkpoints for programs that run without cg.

A program saved by "cg analyze --save-instrumented" imports this module from
beside it. At exit it prints one block on standard output:

    --- CODEGREEN_RESULT_START ---
    {"measurements": [{"checkpoint_id": ..., "timestamp": ..., "joules": ..., "watts": ...}]}
    --- CODEGREEN_RESULT_END ---

timestamp is time.monotonic_ns(); joules is the energy that the processor
packages used since the start of the program, watts their power between the
last two readings, both null where /sys/class/powercap cannot be read (kernel
documentation: power/powercap/powercap.rst). cg recognises the block in a
program's output and takes it into its report.

Works with Python 3.8 and later, without any other module of cg.
"""
import _thread
import atexit
import os
import sys
import time

LIMIT = 1000000  # checkpoints that are kept; later ones are counted as dropped
PERIOD = 1000000  # nanoseconds between two readings of the counters
MOST = 5000  # watts that no package draws: a counter that wraps says less

_names = {}
_events = []  # (nanoseconds, what, number, thread, call, joules, watts, id that was given by hand)
_dropped = 0
_calls = {}
_stacks = {}
_pauses = {}  # of frames that can be suspended, by id: [number, flags, bits of open async statements]
_sums = {}  # of places, such as lines, by number: [what the block says of it, how often a call came there, nanoseconds]
_at = {}  # by id, of frames that have begun and not ended: the place in which the frame is, 0 for none
_now = {}  # by thread: [the place in which it is, since when]
_AWAY, _WAITS = 1, 2  # suspended; waiting for a frame that tells when it is
_COMPREHENSIONS = "<listcomp>", "<setcomp>", "<dictcomp>"  # frames of their own before 3.12
_own = globals()
_ident = getattr(_thread, "get_native_id", _thread.get_ident)  # the other is given again
# One block for the program: processes that it starts inherit the name of the
# one that reports, and keep quiet.
_reporter = os.environ.setdefault("CODEGREEN_REPORTER", str(os.getpid()))


class _Counters:
    """The energy counters of the processor packages and their memory."""

    def __init__(self, root="/sys/class/powercap"):
        self.zones = []
        self.joules = self.watts = None
        self.read_at = 0
        for path in self._find(root):
            try:
                fd = os.open(os.path.join(path, "energy_uj"), os.O_RDONLY | os.O_CLOEXEC)
                with open(os.path.join(path, "max_energy_range_uj")) as f:
                    wrap = int(f.read()) + 1
                self.zones.append([fd, wrap, int(os.pread(fd, 64, 0))])
            except (OSError, ValueError):
                continue
        if self.zones:
            self.joules, self.read_at = 0.0, time.monotonic_ns()

    @staticmethod
    def _find(root):
        try:
            names = sorted(os.listdir(root))
        except OSError:
            return
        for name in names:
            if not name.startswith("intel-rapl:"):
                continue
            try:
                with open(os.path.join(root, name, "name")) as f:
                    kind = f.read().strip()
            except OSError:
                continue
            if kind.startswith(("package", "dram")):
                yield os.path.join(root, name)

    def read(self, now):
        """(joules, watts) as of the last reading, at most PERIOD old."""
        if self.zones and now - self.read_at >= PERIOD:
            used = 0
            for zone in self.zones:
                try:
                    value = int(os.pread(zone[0], 64, 0))
                except (OSError, ValueError):
                    continue
                more = (value - zone[2]) % zone[1]
                if value >= zone[2] or more * 1e3 <= MOST * (now - self.read_at):
                    used += more  # else it was reset: what it had is not known
                zone[2] = value
            self.watts = used * 1e3 / (now - self.read_at)
            self.joules += used * 1e-6
            self.read_at = now
        return self.joules, self.watts


_counters = _Counters()


def sites(module, names):
    """Tells the qualified names of a module's sites, by number. A place has what the block says of it behind a tab."""
    for number, name in names.items():
        name, _, place = name.partition("\t")
        _names[number] = module + "." + name
        if place:
            _sums[number] = ['"function": %s, %s' % (_text(_names[number]), place), 0, 0]


def _record(what, number, given=None):
    global _dropped
    now = time.monotonic_ns()
    thread = _ident()
    if _sums:
        _spend(thread, now, 0)
    if len(_events) >= LIMIT:
        _dropped += 1
        return
    joules, watts = _counters.read(now)
    if what == "enter":
        _calls[number] = _calls.get(number, 0) + 1
    _events.append((now, what, number, thread, _calls.get(number, 0), joules, watts, given))


def _spend(thread, now, place):
    """The place in which a thread was has the time until now; from now on the thread is in another, 0 for none."""
    was = _now.get(thread)
    if was is None:
        _now[thread] = [place, now]
        return
    if was[0]:
        _sums[was[0]][2] += now - was[1]
    was[:] = place, now


def _go_on(frame):
    """The thread goes on in this frame, or in the nearest that waits for it and is not away, at the place there."""
    while frame and (id(frame) not in _at or _known(frame)[1] & _AWAY):
        frame = frame.f_back
    was = _now.get(_ident())
    if frame and was:
        was[0] = _at[id(frame)]


def place(number):
    """The call of a function goes to a place in its code."""
    frame = sys._getframe(1)
    while frame and id(frame) not in _at and not frame.f_code.co_flags & 1:  # the body of a class
        frame = frame.f_back
    if frame and id(frame) in _at:
        _at[id(frame)] = number
        _sums[number][1] += 1
        _spend(_ident(), time.monotonic_ns(), number)


def _frame():
    """The frame of the site whose checkpoint this is."""
    frame = sys._getframe(2)
    while frame.f_globals is _own or frame.f_code.co_name in _COMPREHENSIONS:
        frame = frame.f_back
    return frame


def _chain(frame, flags):
    """The frames that wait for this one, the nearest first."""
    while True:
        frame = frame.f_back
        pause = frame and _pauses.get(id(frame))
        if frame and not pause and (frame.f_globals is _own or frame.f_code.co_name in _COMPREHENSIONS):
            continue
        if not pause or pause[1] != flags:
            return
        yield pause


def _come_back(frame):
    for pause in reversed(list(_chain(frame, _AWAY | _WAITS))):
        _record("resume", pause[0])
        pause[1] = _WAITS


def _tells(code):
    """Whether a code object has checkpoints."""
    return any(name.startswith("__cg__") for name in getattr(code, "co_names", ()))


def _method_tells(kind, name):
    for k in type.__getattribute__(kind, "__mro__"):
        found = type.__getattribute__(k, "__dict__").get(name)
        if found is not None:
            return type(found) is type(_tells) and _tells(found.__code__)
    return False


def _leave(number, frame, telling, alone):
    """A frame stops; telling says that what it waits for tells when it stops,
    alone that nobody who waits for this one stops with it."""
    pause = _pauses.setdefault(id(frame), [number, 0, 0])
    pause[0] = number
    if pause[1] & _AWAY:
        return  # thrown into, it leaves without having come back
    if telling:
        pause[1] = _WAITS
        return
    pause[1] = _AWAY
    _record("suspend", number)
    if not alone:
        for outer in list(_chain(frame, _WAITS)):
            _record("suspend", outer[0])
            outer[1] = _AWAY | _WAITS
    if _sums:
        _go_on(frame.f_back)


def _run(frame, own):
    """A frame runs, with so many async statements open."""
    if own:
        _pauses[id(frame)][1:] = 0, own
    else:
        _pauses.pop(id(frame), None)


def _known(frame):
    return _pauses.get(id(frame), (0, 0, 0))


def enter(number):
    """A call of the site begins."""
    frame = _frame()
    _run(frame, 0)
    if _sums:
        _at[id(frame)] = 0
    _stacks.setdefault(_ident(), []).append(number)
    _record("enter", number)


def _over(number, was, given=None):
    stack = _stacks.get(_ident(), [])
    if number in stack:
        while stack.pop() != number:
            pass
    _record("close" if was else "exit", number, given)


def _end(number, frame):
    was = _known(frame)[1] & _AWAY
    _run(frame, 0)
    _over(number, was)
    if _sums:
        _at.pop(id(frame), None)
        _go_on(frame.f_back)


def exit(number):
    """The call of the site ends; one that was suspended is closed."""
    _end(number, _frame())


def leave(number, value):
    """As exit, for the value of a lambda."""
    _end(number, _frame())
    return value


def suspend(number, value=None):
    """The frame of the site stops at a yield; gives value."""
    _leave(number, _frame(), False, False)
    return value


def give(number, value=None):
    """As suspend, for an asynchronous generator: the one that asked goes on."""
    _leave(number, _frame(), False, True)
    return value


def wait(number, value):
    """The frame of the site awaits a value, or yields from it: it stops, or is
    there as long as a value that has checkpoints runs. Gives value."""
    kind = type(value)
    if kind is _COROUTINE:
        telling = _tells(value.cr_code)
    else:
        telling = kind is _GENERATOR and _tells(value.gi_code)
    _leave(number, _frame(), telling, False)
    return value


def begin(number):
    """An async for or async with begins."""
    _pauses.setdefault(id(_frame()), [number, 0, 0])[2] <<= 1


def over(number, value):
    """It is over, or with, this value: the frame waits for its methods."""
    frame, kind = _frame(), type(value)
    if kind is _ASYNC_GENERATOR:
        telling = _tells(value.ag_code)
    else:
        telling = _method_tells(kind, "__aenter__") and _method_tells(kind, "__aexit__")
    if not _known(frame)[1] & _AWAY:
        _pauses.setdefault(id(frame), [number, 0, 0])[2] |= telling
    _leave(number, frame, telling, False)
    return value


def again(number):
    """Its body is left for the next value, or for the end."""
    frame = _frame()
    _leave(number, frame, _known(frame)[2] & 1, False)


def end(number):
    """It is over, and the frame runs."""
    frame = _frame()
    _back(number, frame, _known(frame)[2] >> 1)


def resume(number, *value):
    """The frame of the site goes on; gives value, for which it waited. It comes to its place again then."""
    frame = _frame()
    known = _known(frame)
    if known[1] == _WAITS:  # it was never away
        _pauses[id(frame)][1] = 0
    else:
        _come_back(frame)
        _record("resume", number)
        _run(frame, known[2])
        if _sums:
            _go_on(frame)
    if value:
        if _at.get(id(frame)):
            _sums[_at[id(frame)]][1] += 1
        return value[0]


def unwind(number):
    """The site handles an exception: it runs, whatever it called is over. One
    that was suspended has been thrown into, and is back."""
    frame = _frame()
    _back(number, frame, _known(frame)[2])


def _back(number, frame, own):
    if _known(frame)[1] & _AWAY:
        _come_back(frame)
        _record("resume", number)
    else:
        _record("unwind", number)
    _run(frame, own)
    if _sums:
        _go_on(frame)


class between:
    """Stands between two items of an async with: the frame is back from the
    first one's await while the second is made."""

    def __init__(self, number):
        self.number = number

    async def __aenter__(self):
        resume(self.number)
        begin(self.number)

    async def __aexit__(self, *exception):
        end(self.number)
        unwind(self.number)
        again(self.number)


async def _generator():
    yield

_coroutine = between(0).__aenter__()
_COROUTINE, _GENERATOR, _ASYNC_GENERATOR = type(_coroutine), type(_chain(None, 0)), type(_generator())
_coroutine.close()


_numbers = {}  # of checkpoints by hand under cg: (file, name) -> number, name -> the last one that began


def _door():
    """How cg takes checkpoints where it runs this program, else None."""
    try:
        from _frozen_importlib_external import PathFinder
        return PathFinder.find_spec.__func__.cg
    except (ImportError, AttributeError):
        return None


def _number_of(name, frame):
    """The number that cg gives to a name; 0 where it gives none."""
    code = frame.f_code
    site = "S\tfunction\t%d\t0\t%d\t%s\n" % (frame.f_lineno, frame.f_lineno, " ".join(str(name).split()))
    try:
        answer = _cg[0]("load", "", os.path.abspath(code.co_filename), "1", site)
        return int(answer[1]) + 1 if answer[0] == b"ok" else 0
    except (OSError, ValueError):
        return 0


_cg = _door()


def checkpoint(checkpoint_id, name, checkpoint_type):
    """Marks a point by hand: "enter" is the begin of a call of the function name,
    anything else its end. checkpoint_id stands for the place in the source.

    Under cg it is an event of the run; else it stands in the block.
    """
    _mark(checkpoint_id, name, checkpoint_type)


def measure_checkpoint(checkpoint_id, checkpoint_type, name, line_number, context):
    """As checkpoint; line_number and context are for readers of the source."""
    _mark(checkpoint_id, name, checkpoint_type)


def _mark(checkpoint_id, name, checkpoint_type):
    enters = checkpoint_type == "enter"
    if _cg:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_globals.get("__name__") in ("codegreen", "codegreen_runtime"):
            frame = frame.f_back  # the program's own line
        at = frame.f_code.co_filename, name
        number = _numbers.get(at)
        if number is None and not enters:
            number = _numbers.get(name)  # it began in another file
        if number is None:
            number = _numbers[at] = _number_of(name, frame)
        if enters:
            _numbers[name] = number
        if number:
            _cg[1](number if enters else 1 << 21 | number)
        return
    if enters:
        _stacks.setdefault(_ident(), []).append(name)
        _record("enter", name, checkpoint_id)
    else:
        _over(name, False, checkpoint_id)


# JSON by hand: the program may have a json.py of its own beside this file.

def _text(s):
    utf16 = s.encode("utf-16-be", "surrogatepass")
    units = [utf16[i] << 8 | utf16[i + 1] for i in range(0, len(utf16), 2)]
    return '"%s"' % "".join(chr(u) if 32 <= u < 127 and u not in (34, 92) else "\\u%04x" % u for u in units)


def _number(x):
    return "null" if x is None else repr(x)


def _measurement(event):
    """An event as JSON."""
    now, what, number, thread, call, joules, watts, given = event
    called = _names.get(number, number), number if given is None else given, call, thread
    return '{"checkpoint_id": %s, "timestamp": %d, "joules": %s, "watts": %s}' % (
        _text(what + ":%s:%s#inv_%d_t%x" % called), now, _number(joules), _number(watts))


def _finish():
    if _reporter != str(os.getpid()) or not _events:
        return
    open_calls = {}  # of each site: a generator may have ended on another thread
    for _, what, number, *_ in _events:
        open_calls[number] = max(0, open_calls.get(number, 0) + {"enter": 1, "exit": -1, "close": -1}.get(what, 0))
    for thread, stack in list(_stacks.items()):
        for number in reversed(stack):
            open_calls[number] = open_calls.get(number, 0) - 1
            if open_calls[number] >= 0:
                _record("exit", number)
    measurements = ", ".join(map(_measurement, _events))
    more = ', "dropped": %d' % _dropped if _dropped else ""
    if _sums:
        more += ', "places": [%s]' % ", ".join('{%s, "count": %d, "time_ns": %d}' % tuple(s) for s in _sums.values())
    try:
        sys.stdout.flush()
        sys.stdout.write("--- CODEGREEN_RESULT_START ---\n%s\n--- CODEGREEN_RESULT_END ---\n" % (
            '{"measurements": [%s]%s}' % (measurements, more)))
        sys.stdout.flush()
    except (OSError, ValueError):
        pass


atexit.register(_finish)
