"""What cg says about this run. It reads the file that cg left for it, which has a line
"key=value" for each setting. The settings become attributes. A file that cannot be
read is an OSError.
"""
import os
import sys

CPYTHON = sys.implementation.name == "cpython"


class Run:
    channel = ""   # the file that takes the events
    server = ""    # the socket at which cg answers
    here = ""      # the folder of cg's runtime
    native = ""    # the native library, if there is one
    seals = ""     # its digests, see recorder.py
    reason = ""    # why there is none
    cache = ""     # the folder of woven code
    key = ""       # what woven code depends on beside its source
    imports = "1"  # weave imported modules, too
    program = ""   # packages that are the program wherever they lie, as ":one:two:"
    ahead = ""     # "ask": cg may weave files ahead of the program; "work": this process does it
    foreign = ""   # weave other files, too, whose paths begin so: "/one:/two"
    places = ""    # "line" or "block" where parts of the code of functions are told apart
    placed = ""    # files that alone have such functions, as "/one\0key\0/two\0key": their woven code has keys of its own
    named = ""     # "1" where functions are named in whose places it is, in any file
    keys = {}      # placed, key by file
    nested = False  # this is not the first interpreter of the process

    def read(self, path):
        with open(path, "rb") as f:
            for line in f.read().split(b"\n"):
                name, _, value = os.fsdecode(line).partition("=")
                setattr(self, name, value)
        words = self.placed.split("\0")
        self.keys = dict(zip(words[::2], words[1::2]))


run = Run()
