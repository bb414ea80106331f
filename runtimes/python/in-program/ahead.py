"""Weaves files of the program ahead of it, into the cache. cg starts the program's
interpreter for it as a process of its own (languages/python/ahead.go), which says its
process id on a line of standard output, and then takes paths from lines of standard
input. It answers each with a line: "made" if it has put the file into the cache, "kept" if
that had it, "none" if it has it not, "foreign" for a file that is no part of the program.
"""
import _io
import os

from .making import make
from .recorder import use_cache
from .source import Source, cached, look_up
from .weaving import wanted


def work():
    """Does not return: the process has nothing else to do."""
    status = 1
    try:
        use_cache()
        say(b"%d" % os.getpid())
        for line in _io.open(0, "rb"):
            say(attempt(os.fsdecode(line[:-1])))
        status = 0
    finally:
        os._exit(status)


def say(word):
    os.write(1, word + b"\n")


def attempt(path):
    if not wanted(path):
        return b"foreign"
    try:
        source = Source(None, path, "")
        source.ahead = True
        look_up(source)
        if cached(source) is not None:
            return b"kept"
        make(source)
        return b"none" if cached(source) is None else b"made"
    except Exception:  # the program will meet it, and tell
        return b"none"
