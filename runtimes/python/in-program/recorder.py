"""How this process records events: by the native module, or in Python where it
cannot be loaded. It takes what run.py has and gives checkpoints for woven code.
A library that is not the one that cg has compiled is not loaded.
"""
import _frozen_importlib as bootstrap
import _frozen_importlib_external as machinery
import _imp
import os
import sys

from .events import PAUSES, TYPES
from .files import read_private
from .run import CPYTHON, run
from .server import tell


class Recorder:
    checkpoint = None  # bits -> object
    pausing = None     # the same, of a site whose frames can be suspended
    makers = {}        # both by the letter behind a mark
    entries = ""       # what the names of entries in the cache begin with
    seal = None        # bytes -> number, by which an entry of the cache is known to be whole
    native = None      # the native module

    def make(self, bits, letter):
        """The checkpoint of some bits: always the same, so that code that is
        loaded twice is equal."""
        if self.native:
            return self.makers[letter](bits)
        c = self.live.get((bits, letter))
        if c is None:
            c = self.live[bits, letter] = self.makers[letter](bits)
        return c

    live = {}  # (bits, letter) -> checkpoint; native ones are in the native module


recorder = Recorder()


def open_channel():
    """Opens the channel with the native module, else in Python. Whether that
    was possible; the reason why it was not is reported to cg."""
    recorder.entries = entries()
    reason = run.reason
    if run.native:
        reason = cannot_load()
        if not reason:
            try:
                open_native()
                return True
            except (ImportError, OSError, UnicodeError) as e:
                reason = str(e)
    tell("pure", reason)
    try:
        open_pure()
        return True
    except Exception as e:
        tell("off", "%s: %s" % (type(e).__name__, e))
        return False


def entries():
    return os.path.join(run.cache, "%s-%s-%s%d-" % (
        os.path.basename(run.here), run.key, sys.implementation.cache_tag, sys.flags.optimize))


def use_cache():
    """For a process that weaves and records nothing. ImportError where the program would
    not have the native module."""
    reason = cannot_load()
    if reason:
        raise ImportError(reason)
    recorder.entries = entries()
    recorder.native = native()
    recorder.seal = recorder.native.digest


def cannot_load():
    """Why this interpreter cannot load the native module, "" if it can."""
    if not CPYTHON:
        return "the interpreter is " + sys.implementation.name
    if "t" in sys.abiflags:
        # Its objects have another head, and loading the module would give it
        # the global lock that it does without.
        return "the interpreter is built without a global lock"
    return ""


def native():
    if _imp.source_hash(0x6367, read_private(run.native)).hex() not in run.seals.split():
        raise ImportError(run.native + " is not the library that cg has compiled")
    loader = machinery.ExtensionFileLoader("cgprobe", run.native)
    spec = bootstrap.ModuleSpec("cgprobe", loader, origin=run.native)
    spec._set_fileattr = False
    module = loader.create_module(spec)
    loader.exec_module(module)
    return module


def open_native():
    module = native()
    run.nested = not module.open(run.channel, batch)
    module.cache(recorder.entries)
    recorder.native, recorder.seal = module, module.digest
    use(module.checkpoint, module.pausing)


def batch(enter, leave):
    """256 events of a call that begins and ends, as woven code has them: by it the
    native module measures what an event costs."""
    for _ in "12345678":
        -enter; -leave; -enter; -leave; -enter; -leave; -enter; -leave
        -enter; -leave; -enter; -leave; -enter; -leave; -enter; -leave
        -enter; -leave; -enter; -leave; -enter; -leave; -enter; -leave
        -enter; -leave; -enter; -leave; -enter; -leave; -enter; -leave


def open_pure():
    from .pure import start
    from .pausing import Pausing
    checkpoint = start(run.channel)
    recorder.entries += "pure-"
    recorder.seal = lambda b: int.from_bytes(_imp.source_hash(0x6367, b), "little")
    use(checkpoint, Pausing)
    run.nested = nested()


def use(checkpoint, pausing):
    recorder.checkpoint, recorder.pausing = checkpoint, pausing
    recorder.makers[""] = checkpoint
    for letter, how in PAUSES.items():
        recorder.makers[letter] = lambda bits, how=how << 24: pausing(bits | how)


def nested():
    """Whether this is not the first interpreter of the process."""
    for name in "_interpreters", "_xxsubinterpreters":
        try:
            current = __import__(name).get_current()
        except (ImportError, AttributeError, RuntimeError):
            continue
        return str(current[0] if isinstance(current, tuple) else current) not in ("0", "InterpreterID(0)")
    return False


def enliven(code, base, places):
    """Puts the checkpoints into code and all code in it: places is an iterator
    over what cache.py describes, base the number before the file's first site."""
    consts = list(code.co_consts)
    for _ in range(next(places)):
        i, mark = next(places), next(places)
        consts[i] = recorder.make(mark >> 28 << 32 | (mark & 0xffffff) + base, TYPES[mark >> 24 & 15])
    for _ in range(next(places)):
        i = next(places)
        consts[i] = enliven(consts[i], base, places)
    return code.replace(co_consts=tuple(consts))
