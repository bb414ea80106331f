"""Runs a program of "python -c TEXT" or of standard input woven. The interpreter
reads and compiles it in C. Before it runs a main module it tells its audit hooks
the code (docs.python.org/3/library/audit_events.html, exec); the hook runs the
woven code in its place, ends as that ended, and leaves nothing to run. A text
that cannot be read again, or whose code is not what the interpreter has, is left
to the interpreter, and cg reports it.
"""
import os
import sys

from .caught_warnings import CaughtWarnings
from .recorder import recorder
from .script import plain_main
from .server import tell
from .weaving import woven


def take_over_text():
    if sys.flags.inspect or sys.flags.interactive or sys.argv[0] != "-c" and os.isatty(0):
        return  # somebody types, or will when the program has ended
    if recorder.native:
        recorder.native.replace(prepare)
        return
    ours = []

    def hook(event, args):
        if event != "exec" or ours or sys._getframe().f_back is not None:
            return
        pair = prepare(*args)
        if pair is None:
            return
        ours.append(pair)
        plain_main(lambda: pair)()
        raise SystemExit

    hook.__cantrace__ = True
    sys.addaudithook(hook)


def prepare(code):
    """(woven code, names, whether they lose __file__ at the end) for the code of
    "-c" or standard input, else None."""
    path = code.co_filename
    if path not in ("<string>", "<stdin>"):
        return None
    try:
        source = command() if path == "<string>" else standard_input()
        if path == "<string>" and source.startswith("from multiprocessing."):
            return None  # how multiprocessing starts its own processes
        with CaughtWarnings():
            if compile(source, path, "exec", 0, True) != code:
                raise ValueError("its text is not to be had")
    except Exception as e:
        why = "%s: %s" % (type(e).__name__, e)
        if isinstance(e, OSError):
            why = "standard input of this process is no file"
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
