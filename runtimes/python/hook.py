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
import _socket
import _thread
import marshal
import os
import _frozen_importlib as bootstrap
import _frozen_importlib_external as machinery

MARK = "\0cg-checkpoint:"  # begins the constants that become checkpoints
ENTER, EXIT = 0, 1         # kinds of events
OWN = (1 << 21) - 1        # the site of cg's own work inside the program

Code = type((lambda: 0).__code__)
Loader = machinery.SourceFileLoader
original_get_code = Loader.get_code


class Run:
    """What cg says about this run."""
    channel = server = native = cache = key = here = reason = ""
    imports = "1"     # weave imported modules too
    foreign = ""      # also ask about the standard library and site-packages
    main = None       # makes the callable that runs the script, native only
    nested = False    # this is not the first interpreter of the process


run = Run()
checkpoint = None     # bits -> object
pausing = None        # the same, of a site whose frames can be suspended
live = {}             # bits -> checkpoint, shared by all modules


def start(path):
    try:
        begin(path)
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]  # the program imports its own


def begin(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            name, _, value = line.rstrip("\n").partition("=")
            setattr(run, name, value)
    if not probe():
        return
    Loader.get_code = get_code
    if not run.nested:
        script()
        if sys.argv[:1] == ["-c"]:
            sys.meta_path.insert(0, Workers)


def probe():
    """Opens the channel with the native module, else in Python."""
    global checkpoint, pausing
    reason = run.reason
    if run.native:
        if "t" in getattr(sys, "abiflags", "") or sys.implementation.name != "cpython":
            reason = "this interpreter is not a CPython with a global lock"
        else:
            try:
                loader = machinery.ExtensionFileLoader("cgprobe", run.native)
                spec = bootstrap.ModuleSpec("cgprobe", loader, origin=run.native)
                spec._set_fileattr = False
                module = loader.create_module(spec)
                loader.exec_module(module)
                run.nested = not module.open(run.channel)
                checkpoint, pausing = module.checkpoint, module.pausing
                run.main = module.main
                return True
            except (ImportError, OSError) as e:
                reason = str(e)
    tell("pure", reason)
    try:
        with open(os.path.join(run.here, "pure.py"), "rb") as f:
            scope = {"__name__": "cg_pure", "take": take}
            exec(compile(f.read(), "<frozen importlib._bootstrap_external>", "exec", 0, True), scope)
        checkpoint, pausing = scope["start"](run.channel), None
        pausing = pausing_with(checkpoint)
        run.nested = nested()
        return True
    except Exception as e:
        tell("off", "%s: %s" % (type(e).__name__, e))
        return False


def pausing_with(plain):
    """The Python form of the native module's pausing, on a plain checkpoint."""
    away = set()
    SUSPEND, RESUME, UNWIND, CLOSE = 2, 3, 4, 5
    else_kind = {EXIT: CLOSE, UNWIND: RESUME}

    class Pausing:
        __slots__ = "kind", "usual", "back"

        def __init__(self, bits):
            self.kind, site = bits >> 21, bits & OWN
            self.usual = plain(bits)
            self.back = plain(else_kind.get(self.kind, self.kind) << 21 | site)

        def __neg__(self):
            frame = id(sys._getframe(1))
            was = frame in away
            away.discard(frame)
            if self.kind == SUSPEND:
                away.add(frame)
            -(self.back if was else self.usual)

        def __lshift__(self, value):
            frame = id(sys._getframe(1))
            was = frame in away
            away.discard(frame)
            if self.kind == SUSPEND:
                away.add(frame)
            -(self.back if was else self.usual)
            return value

    return Pausing


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
    body = b"\0".join(p if isinstance(p, bytes) else p.encode("utf-8", "surrogateescape") for p in parts)
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


def take(first, parent, lost, new):
    """A chunk of the channel for this thread: its offset in the file. parent
    is (pid, tid, fork tick) of the thread that forked this one, if any; lost
    events have found no chunk since the last one, new of them untold."""
    answer = ask("chunk", str(os.getpid()), str(_thread.get_native_id()), "1" if first else "0",
                 *map(str, parent or (0, 0, 0)), str(lost), str(new))
    return int(answer[1]) if answer[0] == b"ok" else -1


# Modules

def get_code(self, fullname):
    if type(self) is Loader:
        path = self.get_filename(fullname)
        # The module of "python -m" is asked for by runpy, under its own name.
        main = fullname == "__main__" or sys.argv[:1] == ["-m"] and sys._getframe(1).f_globals.get("__name__") == "runpy"
        if (main or run.imports) and wanted(path):
            try:
                source = self.get_data(path)
            except OSError:
                return original_get_code(self, fullname)
            code = woven(source, path, "__main__" if main else fullname)
            if code is not None:
                return code
    return original_get_code(self, fullname)


library = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
libraries = (library, os.path.dirname(os.__file__) + os.sep)


def own(path):
    """Neither the standard library nor an installed package."""
    return not (path.startswith(libraries) or
                "/site-packages/" in path or "/dist-packages/" in path)


def wanted(path):
    return run.foreign or own(path)


def woven(source, path, module):
    """The code object with live checkpoints, None to load the module as it is.

    What this costs is cg's, not the importing function's: it is a site of its
    own, which the reader books so.
    """
    -checkpoint(ENTER << 21 | OWN)
    try:
        return weave_or_load(source, path, module)
    finally:
        -checkpoint(EXIT << 21 | OWN)


def weave_or_load(source, path, module):
    try:
        where = os.path.join(run.cache, "%s-%d-%s-%s-%s%d-%s" % (
            _imp.source_hash(0x6367, source).hex(), len(source), os.path.basename(run.here), run.key,
            sys.implementation.cache_tag, sys.flags.optimize,
            "main" if module == "__main__" else "module"))
        try:
            with open(where, "rb") as f:
                sites, code = marshal.loads(f.read())
        except (OSError, ValueError, EOFError, TypeError):
            sites, code = make(source, path, module, where)
            if code is None:
                return None
        answer = ask("load", module, path, "1" if own(path) else "0", sites)
        if answer[0] != b"ok":
            return None
        return enliven(code, int(answer[1]), path)
    except OSError:  # cg has ended
        return None
    except Exception as e:  # a fault of ours must not become the program's
        tell("skip", module, path, "%s: %s" % (type(e).__name__, e))
        return None


def make(source, path, module, where):
    """Weaves a source and caches the outcome: (sites, code), or (None, None)."""
    with open(os.path.join(run.here, "weave.py"), "rb") as f:
        scope = {"__name__": "cg_weave", "MARK": MARK, "get_ident": _thread.get_ident}
        exec(compile(f.read(), "<frozen importlib._bootstrap_external>", "exec", 0, True), scope)
    try:
        text = scope["decode"](source)
    except (SyntaxError, UnicodeError, LookupError) as e:
        tell("skip", module, path, "not readable as source: %s" % e)
        return None, None
    answer = ask("plan", module, path, "1" if own(path) else "0", text.encode("utf-8", "surrogatepass"))
    if answer[0] != b"ok":
        return None, None
    plan = answer[1].decode("utf-8", "surrogateescape")
    try:
        sites, code, quiet = scope["weave"](text, source, path, plan)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        # Not ours to report: the interpreter says it when it compiles the
        # original.
        tell("skip", module, path, "%s: %s" % (type(e).__name__, e))
        return None, None
    # The warnings of a script come every time, those of a module when it is
    # compiled.
    if quiet or module != "__main__" and not sys.dont_write_bytecode:
        part = "%s.%d.%d" % (where, os.getpid(), _thread.get_ident())
        try:
            with open(part, "wb") as f:
                f.write(marshal.dumps((sites, code)))
            os.replace(part, where)
        except (OSError, ValueError):
            try:
                os.unlink(part)
            except OSError:
                pass
    return sites, code


def enliven(code, base, path):
    """Replaces the marks in code and all code in it by checkpoints."""
    consts = []
    for c in code.co_consts:
        if type(c) is Code:
            c = enliven(c, base, path)
        elif type(c) is str and c.startswith(MARK):
            kind, _, site = c[len(MARK):].partition(":")
            pauses = site.endswith("p")
            bits = int(kind) << 21 | base + int(site.rstrip("p"))
            c = live.get(bits)
            if c is None:
                c = live[bits] = (pausing if pauses else checkpoint)(bits)
        consts.append(c)
    return code.replace(co_consts=tuple(consts), co_filename=path)


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
            source = f.read()
    except OSError:
        return
    if source[:4] == b"PK\3\4" or name.endswith(".pyc"):
        return
    path = name if name.startswith("/") or sys.version_info < (3, 9) else os.getcwd() + "/" + name
    code = woven(source, path, "__main__")
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
        names["__file__"] = path
        names["__cached__"] = None
        names["__loader__"] = Loader("__main__", path)
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
        code, names = prepare()
        try:
            exec(code, names)
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


# Workers of multiprocessing that are started anew ("python -c") run the script
# by runpy.run_path, which reads and compiles it without an import hook.

class Workers:
    """A finder that meets runpy, once, and steps aside."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "runpy":
            return None
        sys.meta_path.remove(cls)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = Wrapped(spec.loader)
                return spec


class Wrapped:
    """A loader that hands the finished module to adopt."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        original = module._get_code_from_file

        def get(*args):  # (name, path) before 3.12, then (path)
            path = os.fsdecode(args[-1])
            if args[0] == "__mp_main__" or sys._getframe(1).f_locals.get("run_name") == "__mp_main__":
                try:
                    with open(path, "rb") as f:
                        code = woven(f.read(), path, "__main__") if wanted(os.path.abspath(path)) else None
                except OSError:
                    code = None
                if code is not None:
                    return (code, args[-1]) if len(args) == 2 else code
            return original(*args)

        module._get_code_from_file = get
