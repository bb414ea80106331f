"""Weaves checkpoints into the program's modules as they are loaded.

start(run) reads the file that cg left for this run (key=value lines), opens
the channel, and takes over two things: SourceFileLoader.get_code for modules,
and the start of the script on the command line. Whatever fails leaves the
program as it is, and cg is told why.

Executed from sitecustomize under importlib's file name, see there. It imports
built-in modules only, so that no file of the program can take their place.
"""
import sys

before = set(sys.modules)

import _imp
import _io
import _socket
import _thread
import marshal
import os
import time
import _frozen_importlib as bootstrap
import _frozen_importlib_external as machinery

MARK = "\0cg-checkpoint:"  # begins the constants that become checkpoints
ENTER, EXIT, SUSPEND, RESUME, UNWIND, CLOSE = range(6)  # kinds of events
OWN = (1 << 21) - 1        # the site of cg's own work inside the program

CPYTHON = sys.implementation.name == "cpython"

Code = type((lambda: 0).__code__)
Loader = machinery.SourceFileLoader
original_get_code = Loader.get_code


class Run:
    """What cg says about this run."""
    channel = server = native = seals = cache = key = here = reason = ""
    imports = "1"     # weave imported modules too
    foreign = ""      # also ask about the standard library and site-packages
    main = None       # makes the callable that runs the script, native only
    replace = None    # runs other code in place of the interpreter's next
    around = None     # makes a callable that runs another between two
    nested = False    # this is not the first interpreter of the process


run = Run()
checkpoint = None     # bits -> object
pausing = None        # the same, of a site whose frames can be suspended
counting = None       # the same, of one whose calls may be counted only
makers = {}           # the three by the letter behind a mark
live = {}             # (bits, letter) -> checkpoint, shared by all modules; native ones are in the native module
load = None           # loads a module from the cache, native only
seal = None           # bytes -> number, by which an entry of the cache is known to be whole


def start(path):
    try:
        begin(path)
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]  # the program imports its own


def begin(path):
    with open(path, "rb") as f:
        for line in f.read().split(b"\n"):
            name, _, value = os.fsdecode(line).partition("=")
            setattr(run, name, value)
    if not probe():
        offer(None)
        return
    offer((ask, lambda bits: -checkpoint(bits)))
    makers.update({"": checkpoint, "s": counting})
    for letter, how in PAUSES.items():
        makers[letter] = lambda bits, how=how << 24: pausing(bits | how)
    for make in makers.values():
        type(make(OWN)).__reduce__ = reduce
    Loader.get_code = get_code
    archives()
    if not run.nested:
        if sys.argv[:1] in (["-c"], [""], ["-"]):
            text()
        else:
            script()


OFFERED = {"codegreen": "sdk/codegreen/__init__.py", "codegreen_runtime": "codegreen_runtime.py"}


def offer(door):
    """Lets the program import cg's modules where it finds none of that name.
    door is how codegreen_runtime tells checkpoints, None where it cannot."""
    finder = machinery.PathFinder
    try:
        original = finder.find_spec.__func__
    except AttributeError:
        return  # another implementation's

    def find_spec(cls, fullname, path=None, target=None):
        spec = original(cls, fullname, path, target)
        if spec is None and path is None and fullname in OFFERED:
            file = os.path.join(run.here, OFFERED[fullname])
            inside = [os.path.dirname(file)] if file.endswith("__init__.py") else None
            spec = machinery.spec_from_file_location(fullname, file, submodule_search_locations=inside)
        return spec

    find_spec.cg = door
    finder.find_spec = classmethod(find_spec)


def probe():
    """Opens the channel with the native module, else in Python."""
    global checkpoint, pausing, counting, load, seal, prefix
    prefix = os.path.join(run.cache, "%s-%s-%s%d-" % (
        os.path.basename(run.here), run.key, sys.implementation.cache_tag, sys.flags.optimize))
    reason = run.reason
    if run.native:
        if not CPYTHON:
            reason = "the interpreter is " + sys.implementation.name
        elif "t" in sys.abiflags:
            # Its objects have another head, and loading the module would give
            # it the global lock that it does without.
            reason = "the interpreter is built without a global lock"
        else:
            try:
                if _imp.source_hash(0x6367, private(run.native)).hex() not in run.seals.split():
                    raise ImportError(run.native + " is not the library that cg has compiled")
                loader = machinery.ExtensionFileLoader("cgprobe", run.native)
                spec = bootstrap.ModuleSpec("cgprobe", loader, origin=run.native)
                spec._set_fileattr = False
                module = loader.create_module(spec)
                loader.exec_module(module)
                run.nested = not module.open(run.channel)
                checkpoint, pausing, counting = module.checkpoint, module.pausing, module.counting
                run.main, run.replace, run.around = module.main, module.replace, module.around
                module.cache(prefix)
                load, seal = module.load, module.digest
                return True
            except (ImportError, OSError, UnicodeError) as e:
                reason = str(e)
    tell("pure", reason)
    try:
        scope = part("pure", take=take, tell=tell)
        checkpoint = scope["start"](run.channel)
        prefix += "pure-"
        seal = lambda b: int.from_bytes(_imp.source_hash(0x6367, b), "little")
        pausing, counting = pausing_with(checkpoint), checkpoint
        run.nested = nested()
        return True
    except Exception as e:
        tell("off", "%s: %s" % (type(e).__name__, e))
        return False


# How a checkpoint looks at its frame, by the letter behind its mark; the
# native module (python.c) says what each does.
PAUSES = {"p": 0, "w": 1, "y": 2, "o": 3, "v": 4, "g": 5, "h": 6}
PLAIN, WAIT, ALONE, OPEN, OVER, AGAIN, SHUT = range(7)


def pausing_with(plain):
    """The Python form of the native module's pausing, on a plain checkpoint."""
    AWAY, WAITS = 1, 2
    pauses = {}  # id of a frame -> [site, flags, bits of open async statements]
    types = {plain}
    Generator, Function = type(i for i in ()), type(pausing_with)

    async def of_its_kind():
        yield
    AsyncGenerator = type(of_its_kind())

    async def of_its_kind():
        pass
    one = of_its_kind()
    Coroutine = type(one)
    one.close()

    def tells(value, statement):
        kind = type(value)
        if statement:
            if kind is AsyncGenerator:
                return marked(value.ag_code)
            return method(kind, "__aenter__") and method(kind, "__aexit__")
        return kind is Coroutine and marked(value.cr_code) or kind is Generator and marked(value.gi_code)

    def method(kind, name):
        for k in type.__getattribute__(kind, "__mro__"):
            found = type.__getattribute__(k, "__dict__").get(name)
            if found is not None:
                return type(found) is Function and marked(found.__code__)
        return False

    def marked(code):
        return any(type(c) in types for c in code.co_consts)

    def chain(frame, flags):
        while True:
            frame = frame.f_back
            p = frame and pauses.get(id(frame))
            if frame and not p and frame.f_code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>"):
                continue  # a frame of its own before 3.12
            if not p or p[1] != flags:
                return
            yield p

    def event(kind, site):
        -plain(kind << 21 | site)

    def come_back(frame):
        for p in reversed(list(chain(frame, AWAY | WAITS))):
            event(RESUME, p[0])
            p[1] = WAITS

    class Pausing:
        __slots__ = "kind", "site", "how", "frame"

        def __init__(self, bits):
            self.kind, self.site, self.how = bits >> 21 & 7, bits & OWN, bits >> 24 & 255
            self.frame = 1 + (bits >> 32)  # of the site, counted from an operator

        def __neg__(self):
            self.look(sys._getframe(self.frame), None)

        def __lshift__(self, value):
            self.look(sys._getframe(self.frame), value)
            return value

        __getitem__ = __lshift__

        def look(self, frame, value):
            kind, site, how, key = self.kind, self.site, self.how, id(frame)
            p = pauses.get(key)
            away = p and p[1] & AWAY
            own = p[2] if p else 0
            if kind == SUSPEND:
                if away:  # thrown into, and leaves without having come back
                    return
                p = pauses[key] = [site, p[1] if p else 0, own]
                if how == OPEN:
                    p[2] <<= 1
                    return
                if how == OVER:
                    p[2] |= tells(value, True)
                if tells(value, False) if how == WAIT else how >= OVER and p[2] & 1:
                    p[1] = WAITS
                    return
                p[1] = AWAY
                event(SUSPEND, site)
                if how != ALONE:
                    for p in list(chain(frame, WAITS)):
                        event(SUSPEND, p[0])
                        p[1] = AWAY | WAITS
                return
            if kind == RESUME:
                if p and p[1] == WAITS:  # it was never away
                    p[1] = 0
                    return
                come_back(frame)
            elif kind == UNWIND:
                if away:
                    come_back(frame)
                    kind = RESUME
                if how == SHUT:
                    own >>= 1
            else:
                if kind == EXIT and away:
                    kind = CLOSE
                own = 0
            event(kind, site)
            if own:
                p[1:] = 0, own
            elif p:
                pauses.pop(key, None)

    types.add(Pausing)
    return Pausing


# Functions that a program pickles by value take their checkpoints with them:
# live again in a process of this run, of no effect in any other.
REVIVE = """(lambda names: names["revive"](channel, bits, how) if "revive" in names else None)(
getattr(__import__("_frozen_importlib_external").SourceFileLoader.get_code, "__globals__", {})
) or type("Checkpoint", (), {"__neg__": lambda self: None, "__lshift__": lambda self, value: value,
"__getitem__": lambda self, value: value, "__reduce__": lambda self:
(eval, (text, {"text": text, "channel": channel, "bits": bits, "how": how}))})()"""


def reduce(self):
    if load:
        bits, kind = self.__index__(), type(self).__name__
        how = {"Checkpoint": "", "Counting": "s"}.get(kind)
        if how is None:
            how = next(letter for letter, n in PAUSES.items() if n == bits >> 24 & 255)
        bits &= ~(255 << 24)
    else:
        bits, how = next(key for key, c in live.items() if c is self)
    return eval, (REVIVE, {"text": REVIVE, "channel": run.channel, "bits": bits, "how": how})


def revive(channel, bits, how):
    return live_one(bits, how) if channel == run.channel else None


def live_one(bits, how):
    if load:
        return makers[how](bits)
    c = live.get((bits, how))
    if c is None:
        c = live[bits, how] = makers[how](bits)
    return c


def nested():
    for name in "_interpreters", "_xxsubinterpreters":
        try:
            current = __import__(name).get_current()
        except (ImportError, AttributeError, RuntimeError):
            continue
        return str(current[0] if isinstance(current, tuple) else current) not in ("0", "InterpreterID(0)")
    return False


# Talking to cg: one request a connection, so that a fork shares nothing.

def ask(op, *parts):
    """Sends an operation and its parts; returns the parts of the answer.

    OSError when cg cannot be reached.
    """
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


# Modules

def get_code(self, fullname):
    for name in list(later):
        if name in sys.modules:
            meet()
            break
    if type(self) is Loader:
        path = self.get_filename(fullname)
        # The module of "python -m" is asked for by runpy, under its own name.
        main = fullname == "__main__" or sys.argv[:1] == ["-m"] and sys._getframe(1).f_globals.get("__name__") == "runpy"
        if main or run.imports and wanted(path):
            code = woven(None, path, "__main__" if main else fullname)
            if code is not None:
                return code
    return original_get_code(self, fullname)


library = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
libraries = (library, os.path.dirname(os.__file__) + os.sep)


def own(path):
    """Neither the standard library nor an installed package, nor cg's."""
    return not (path.startswith(libraries) or path.startswith(run.here + os.sep) or
                "/site-packages/" in path or "/dist-packages/" in path)


def wanted(path):
    return run.foreign or own(path)


def woven(source, path, module, **how):
    """The code object with live checkpoints, None to load the module as it is.

    What this costs is cg's, not the importing function's: it is a site of its
    own, which the reader books so. source is None for a file that is read as it
    stands. how:

    text   of the source, where no cookie says what its bytes mean
    parse  makes the syntax tree of a text in place of compile
    kind   names what parse does, for the cache
    mute   warnings have been given already
    """
    if source is None and load:
        code = load(module, path, role(path, module))
        if code is not None:
            return code
    -checkpoint(ENTER << 21 | OWN)
    try:
        return weave_or_load(source, path, module, **how)
    finally:
        -checkpoint(EXIT << 21 | OWN)


def role(path, module):
    """What a file's plan depends on beside its text and run.key."""
    return "main1" if module == "__main__" else "module1" if own(path) else "module0"


def weave_or_load(source, path, module, text=None, parse=None, kind="", mute=False):
    what = role(path, module)
    mine = what[-1:]
    try:
        seen = 0, 0
        if source is None:
            status = os.stat(path)
            if path[:1] == "/":
                seen = stamp(status), status.st_ctime_ns
            else:  # a path in the working folder names many files
                source = read(path)
        parts = (path, what) if source is None else (path, what, kind, _imp.source_hash(0x6367, source).hex())
        where = "%s%016x" % (prefix, digest(*[p.encode("utf-8", "surrogatepass") for p in parts]))
        entry = find(where, path)
        code = None
        if entry is not None and not (entry[0] and entry[0] == seen[0]):
            # Touched, or woven too soon after it was written: the content tells.
            if source is None:
                source = read(path)
            if entry[1:3] != (_imp.source_hash(0x6367, source), len(source)):
                entry = None
            elif old(seen):
                keep(where, seen, path, *entry[1:])
        if entry is not None:
            try:
                places, sites, code = entry[3], entry[4], marshal.loads(entry[6])
            except (ValueError, EOFError, TypeError):
                pass
        if code is None:
            if source is None:
                source = read(path)
            places, sites, code = make(source, path, module, mine, where, seen, text, parse, mute)
            if code is None:
                return None
        answer = ask("load", module, path, mine, sites)
        if answer[0] != b"ok":
            return None
        return enliven(code, int(answer[1]), iter(memoryview(places).cast("I"))) if places else code
    except OSError:  # the file is gone, or cg has ended
        return None
    except Exception as e:  # a fault of ours must not become the program's
        tell("skip", module, path, "%s: %s" % (type(e).__name__, e))
        return None


def read(path):
    with _io.open_code(path) as f:
        return f.read()


# The cache. An entry is a file with a name that its path gives, or path and
# content where the text is not that of a file. It is read only if it is this
# user's own and nobody else may write it:
#
#   magic   8 bytes
#   digest  u64: of all that follows, as seal gives it
#   stamp   u64: of the file when it was woven, see stamp; 0: not to be trusted
#   hash    8 bytes, length u64: of the source
#   sizes   u32 of path, places and sites; number of the sites, u32
#   places, path, sites, and the code as marshal writes it
#
# places say where the checkpoints of a code object are: their number, index
# into its constants and bits of each (frames up << 28 | type << 24 | kind << 21 |
# site in the file); and the number of code objects in it that have some, index and places
# of each. The native module reads this, too.

MAGIC = b"cgwoven\3"
TYPES = "", "s", "p", "w", "y", "o", "v", "g", "h"


def digest(*parts):
    """What the native module's cg_digest gives (checkpoint/FORMAT.md)."""
    h = 0
    for p in parts:
        for w in [len(p)] + [int.from_bytes(p[i:i + 8].ljust(8, b"\0"), sys.byteorder) for i in range(0, len(p), 8)]:
            h = (h ^ w) * 0x9e3779b97f4a7c15 & 0xffffffffffffffff
            h ^= h >> 32
    return h


def number(n, size):
    return (n & (1 << 8 * size) - 1).to_bytes(size, sys.byteorder)


def stamp(status):
    """What changes with a file: as a .pyc has it, and what no program sets."""
    return digest(number(status.st_mtime_ns, 8) + number(status.st_ctime_ns, 8)
                  + number(status.st_size, 8) + number(status.st_ino, 8))


def old(seen):
    """Whether a file that is written again would have another stamp."""
    return seen[0] and seen[1] + 2000000000 < time.time_ns()


def find(where, path):
    """(stamp, hash, length, places, sites, count, code) of an entry, or None."""
    try:
        b = private(where)
    except OSError as e:
        if e.errno in (FOREIGN, LINK):
            tell("refused", where, e.strerror)
        return None
    if b[:8] != MAGIC or len(b) < 56:
        return None
    if number(seal(b[16:]), 8) != b[8:16]:
        tell("refused", where, "is not what cg has written: its content has another digest")
        return None
    stamp, length = [int.from_bytes(b[i:i + 8], sys.byteorder) for i in (16, 32)]
    name, places, sites, count = [int.from_bytes(b[i:i + 4], sys.byteorder) for i in (40, 44, 48, 52)]
    at = 56 + places
    if b[at:at + name] != path.encode("utf-8", "surrogatepass"):
        return None
    end = at + name + sites
    return stamp, b[24:32], length, b[56:at], b[at + name:end], count, b[end:]


def keep(where, seen, path, hash, length, places, sites, count, code):
    """Writes an entry."""
    name = path.encode("utf-8", "surrogatepass")
    b = b"".join([number(seen[0] if old(seen) else 0, 8), hash, number(length, 8), number(len(name), 4),
                  number(len(places), 4), number(len(sites), 4), number(count, 4), places, name, sites, code])
    put(where, [MAGIC, number(seal(b), 8), b])


FOREIGN, LINK = 1, 40  # EPERM; ELOOP of O_NOFOLLOW


def belongs(fd, name, kind):
    """OSError with the number FOREIGN if what is open is another user's, or
    others may write it, or it is not of this kind (st_mode)."""
    s = os.fstat(fd)
    if s.st_uid != os.geteuid():
        raise OSError(FOREIGN, "belongs to user %d" % s.st_uid, name)
    if s.st_mode & 0o170022 != kind:
        raise OSError(FOREIGN, "can be written by others, or is of another kind (mode %o)" % s.st_mode, name)


def private(name):
    """The content of a file of cg's: of this user's own only, see belongs."""
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with _io.open(fd, "rb") as f:
        belongs(fd, name, 0o100000)
        return f.read()


def put(where, parts):
    """Writes a file of this user's own, if its folder is: to another name, and
    renamed. Whether that was possible tells nobody."""
    folder, _, name = where.rpartition("/")
    part = "%s.%d.%d" % (name, os.getpid(), _thread.get_ident())
    try:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        belongs(at, folder, 0o040000)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at)
        try:
            with _io.open(fd, "wb") as f:
                f.write(b"".join(parts))
            os.rename(part, name, src_dir_fd=at, dst_dir_fd=at)
        except (OSError, ValueError):
            os.unlink(part, dir_fd=at)
    except OSError:
        pass
    finally:
        os.close(at)


def part(name, **given):
    """The names of another file of this folder."""
    scope = dict(given, __name__=__name__)
    source = private("%s/%s.py" % (run.here, name))
    exec(compile(source, "<frozen importlib._bootstrap_external>", "exec", 0, True), scope)
    return scope


def syntax():
    """The built-in module _ast, past sys.modules and the program's finders: the
    program imports its own."""
    module = sys.modules.get("_ast")
    if module is None:
        if CPYTHON:
            module = _imp.create_builtin(bootstrap.ModuleSpec("_ast", bootstrap.BuiltinImporter, origin="built-in"))
            _imp.exec_builtin(module)
        else:
            import _ast as module
        sys.modules.pop("_ast", None)
    return module


def make(source, path, module, mine, where, seen, text, parse, mute):
    """Weaves a source and caches the outcome: (places, sites, code), or three
    times None."""
    scope = part("weave", MARK=MARK, Ear=Ear, PURE=not load, ast=syntax())
    try:
        text = scope["decode"](source) if text is None else text
    except (SyntaxError, UnicodeError, LookupError) as e:
        tell("skip", module, path, "not readable as source: %s" % e)
        return None, None, None
    answer = ask("plan", module, path, mine, text.encode("utf-8", "surrogatepass"))
    if answer[0] == b"unparsed":
        answer = outlined(text, path, module, mine, answer[1])
    if answer[0] != b"ok":
        return None, None, None
    plan = answer[1].decode("utf-8", "surrogateescape")
    try:
        sites, code, quiet = scope["weave"](text, source, path, plan, parse, mute)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        # Not ours to report: the interpreter says it when it compiles the
        # original.
        tell("skip", module, path, "%s: %s" % (type(e).__name__, e))
        return None, None, None
    sites = sites.encode("utf-8", "surrogateescape")
    places = []
    code = unmark(code, places)
    places = b"".join([number(n, 4) for n in places])
    # The warnings of a script come every time, those of a module when it is
    # compiled.
    if quiet or module != "__main__" and not sys.dont_write_bytecode:
        try:
            data = marshal.dumps(code)
        except ValueError:
            return places, sites, code
        if (3, 11) <= sys.version_info < (3, 14):
            try:
                data = scope["share"](data)
            except (ValueError, IndexError, RecursionError):
                pass
        keep(where, seen, path, _imp.source_hash(0x6367, source), len(source), places, sites,
             sum([line.startswith(b"S") for line in sites.split(b"\n")]), data)
    return places, sites, code


def outlined(text, path, module, mine, reason):
    """The server's answer for a text that cg's grammar cannot place: the plan
    is made from the interpreter's own tree."""
    try:
        with Ear():
            plan = part("outline", ast=syntax())["outline"](text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tell("skip", module, path, reason)
        return [b"refused"]
    return ask("outline", module, path, mine, plan)


class Ear(type):
    """Hears this thread's warnings and keeps them from being shown. It stands
    in the category of a filter: to change the list in place, unlike
    warnings.catch_warnings, makes nobody forget what has been shown."""

    def __new__(mcs):
        ear = super().__new__(mcs, "Ear", (Warning,), {})
        ear.heard, ear.thread = False, _thread.get_ident()
        return ear

    def __init__(cls):
        pass

    def __subclasscheck__(cls, category):
        if _thread.get_ident() == cls.thread:
            cls.heard = True
        return _thread.get_ident() == cls.thread

    def __enter__(cls):
        module = sys.modules.get("warnings")
        cls.filters = getattr(module, "filters", None)
        if cls.filters is None:
            import _warnings
            cls.filters = _warnings.filters
        cls.filter = ("ignore", None, cls, None, 0)
        cls.filters.insert(0, cls.filter)
        return cls

    def __exit__(cls, *exception):
        cls.filters.remove(cls.filter)


def unmark(code, places):
    """Code with None in the places of its marks, which are noted."""
    marks, inner, consts = [], [], []
    for i, c in enumerate(code.co_consts):
        if type(c) is Code:
            below = []
            c = unmark(c, below)
            if below:
                inner.append([i] + below)
        elif type(c) is str and c.startswith(MARK):
            kind, _, site = c[len(MARK):].partition(":")
            digits = site.rstrip("".join(TYPES))
            kind, up = int(kind) & 7, min(int(kind) >> 11, 15)
            marks += i, up << 28 | TYPES.index(site[len(digits):]) << 24 | kind << 21 | int(digits)
            c = None
        consts.append(c)
    if not marks and not inner:
        return code
    places += [len(marks) // 2] + marks + [len(inner)]
    for below in inner:
        places += below
    return code.replace(co_consts=tuple(consts))


def enliven(code, base, places):
    """Puts the checkpoints into code and all code in it."""
    consts = list(code.co_consts)
    for _ in range(next(places)):
        i, mark = next(places), next(places)
        consts[i] = live_one(mark >> 28 << 32 | (mark & 0xffffff) + base, TYPES[mark >> 24 & 15])
    for _ in range(next(places)):
        i = next(places)
        consts[i] = enliven(consts[i], base, places)
    return code.replace(co_consts=tuple(consts))


# The script. "python script.py" reads and runs the file in C, where no import
# hook is asked - except whether the path is a folder or an archive with a
# __main__ in it. A path hook that says yes makes the interpreter call
# runpy._run_module_as_main instead, and that name is ours for one call.

def script():
    name = sys.argv[0] if getattr(sys, "argv", None) else ""
    if name in ("", "-", "-c", "-m") or not os.path.isfile(name) or not wanted(os.path.abspath(name)):
        return
    try:
        with open(name, "rb") as f:
            first = f.read(4)
    except OSError:
        return
    if first == b"PK\3\4" or name.endswith(".pyc"):
        return
    path = name if name.startswith("/") or sys.version_info < (3, 9) else os.getcwd() + "/" + name
    code = woven(None, path, "__main__")
    if code is None:
        return
    real = sys.modules.get("runpy")
    main = [path, code]

    def claim(p):
        if p != path and os.path.basename(p) != os.path.basename(path):
            raise ImportError
        sys.path_hooks.remove(claim)
        main[:] = p, relabel(code, p) if p != path else code
        sys.modules["runpy"] = stand_in
        return claim

    def prepare():
        path, code = main
        if real is None:
            sys.modules.pop("runpy", None)
        else:
            sys.modules["runpy"] = real
        sys.path_importer_cache[path] = None
        if sys.path and sys.path[0] == path:
            if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
                del sys.path[0]
            else:
                sys.path[0] = os.path.dirname(os.path.realpath(path))
        names = sys.modules["__main__"].__dict__
        if CPYTHON:
            names["__file__"] = path
            if sys.version_info < (3, 15):
                names["__cached__"] = None
            names["__loader__"] = Loader("__main__", path)
        else:  # which sets the names before it asks
            sys.path_importer_cache.pop(path, None)
            names["__loader__"] = Loader("__main__", name)
        return code, names

    stand_in = type(sys)("runpy")
    stand_in._run_module_as_main = run.main(prepare) if run.main else plain_main(prepare)
    sys.path_hooks.insert(0, claim)
    sys.path_importer_cache.pop(path, None)


def relabel(code, path):
    consts = tuple(relabel(c, path) if type(c) is Code else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_filename=path)


def plain_main(prepare):
    """Without the native module the script has a frame of ours below it; the
    traceback of an exception leaves it out."""
    def main(*ignored):
        code, names, *leave = prepare()
        try:
            exec(code, names)
            if CPYTHON and leave != [False]:
                names.pop("__file__", None)  # as the interpreter does
                names.pop("__cached__", None)
            return
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as e:
            e.__traceback__ = e.__traceback__.tb_next
            error = e
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1)
    return main


# A program on the command line or on standard input is read and compiled in C.
# Before the interpreter runs a main module it tells its audit hooks the code
# (docs.python.org/3/library/audit_events.html, exec); the hook runs the woven
# code in its place, ends as that ended, and leaves nothing to run.

def text():
    if sys.flags.inspect or sys.flags.interactive or sys.argv[0] != "-c" and os.isatty(0):
        return  # somebody types, or will when the program has ended
    if run.replace:
        run.replace(prepare_text)
        return
    ours = []

    def hook(event, args):
        if event != "exec" or ours or sys._getframe().f_back is not None:
            return
        pair = prepare_text(*args)
        if pair is None:
            return
        ours.append(pair)
        plain_main(lambda: pair)()
        raise SystemExit

    hook.__cantrace__ = True
    sys.addaudithook(hook)


def prepare_text(code):
    """(woven code, names, whether they lose __file__ at the end) for the code of
    "-c" or standard input, else None."""
    path = code.co_filename
    if path not in ("<string>", "<stdin>"):
        return None
    try:
        source = command() if path == "<string>" else standard_input()
        if path == "<string>" and source.startswith("from multiprocessing."):
            return None  # how multiprocessing starts its own processes
        with Ear():
            if compile(source, path, "exec", 0, True) != code:
                raise ValueError("its text is not to be had")
    except Exception as e:
        why = "standard input of this process is no file" if isinstance(e, OSError) else "%s: %s" % (type(e).__name__, e)
        tell("skip", "__main__", path, why)
        return None
    if path == "<string>":
        new = woven(source.encode("utf-8", "surrogatepass"), path, "__main__", text=source, kind="-c", mute=True,
                    parse=lambda text: compile(text, path, "exec", 0x400, True))
    else:
        new = woven(source, path, "__main__", mute=True)
    return new and (new, sys.modules["__main__"].__dict__, path == "<stdin>")


def command():
    """The text of "-c TEXT" in the interpreter's own command line."""
    args = getattr(sys, "orig_argv", None)
    if args is None:
        with open("/proc/self/cmdline", "rb") as f:
            args = [os.fsdecode(a) for a in f.read().split(b"\0")]
    i = 1
    while True:
        letters, i = args[i][1:], i + 1
        if letters == "-check-hash-based-pycs":
            i += 1
            continue
        for k, letter in enumerate(letters):
            if letter == "c":
                return (letters[k + 1:] or args[i]) + "\n"
            if letter in "WX":
                i += not letters[k + 1:]
                break


def standard_input():
    """What the interpreter has read from standard input, if that is a file."""
    got, at = [], 0
    while True:
        b = os.pread(0, 1 << 20, at)
        if not b:
            return b"".join(got)
        got.append(b)
        at += len(b)


# Code out of archives (PEP 273): zipimport compiles it in one function.

def archives():
    module = sys.modules.get("zipimport")
    original = getattr(module, "_get_module_code", None)
    if original is None:
        return
    importer = module.zipimporter
    construct = importer.__init__

    def _get_module_code(self, fullname):
        code, package, path = original(self, fullname)
        main = fullname == "__main__"
        if path.endswith(".py") and (main or run.imports and wanted(path)):
            try:
                source = self.get_data(path)
            except OSError:
                return code, package, path
            new = woven(source.replace(b"\r\n", b"\n"), path, fullname, mute=True)
            if new is not None:
                return new, package, path
        return code, package, path

    def __init__(self, path):
        # runpy asks for an importer before it reads a file.
        meet()
        construct(self, path)

    module._get_module_code = _get_module_code
    importer.__init__ = __init__


# Modules that load or run code in ways of their own are met once they have
# been imported: at the next import, or when runpy looks for an importer.

def meet():
    for name in list(later):
        module = sys.modules.get(name)
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue
        action = later.pop(name, None)
        try:
            if action:
                action(module)
        except Exception as e:
            tell("skip", name, getattr(module, "__file__", None) or name, "%s: %s" % (type(e).__name__, e))


def meet_runpy(module):
    """run_path reads and compiles a file without an import hook; so do workers
    of multiprocessing that are started anew."""
    original = module._get_code_from_file

    def _get_code_from_file(*args):  # (name, path) before 3.12, then (path)
        path = os.fsdecode(args[-1])
        name = args[0] if len(args) == 2 else sys._getframe(1).f_locals.get("run_name")
        if run.imports or name == "__mp_main__":
            try:
                with open(path, "rb") as f:
                    source = f.read()
            except OSError:
                source = b"\0"
            if b"\0" not in source and wanted(os.path.abspath(path)):
                code = woven(None, path, "__main__" if name == "__mp_main__" else name)
                if code is not None:
                    return (code, args[-1]) if len(args) == 2 else code
        return original(*args)

    module._get_code_from_file = _get_code_from_file


def meet_tests(name):
    def action(module):
        if not tests:
            tests.update(part("tests", ask=ask, tell=tell, woven=woven, wanted=wanted, run=run, meet=meet,
                              checkpoint=lambda bits: live_one(bits, ""),
                              get_ident=_thread.get_ident, source_hash=_imp.source_hash))
        tests[name](module)
    return action


tests = {}
later = {
    "runpy": meet_runpy,
    "unittest.result": meet_tests("unittest_result"),
    "_pytest.runner": meet_tests("pytest_runner"),
    "_pytest.assertion.rewrite": meet_tests("pytest_rewrite"),
}
