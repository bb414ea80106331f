"""In which form events stand in the tree, which depends on what records them and
on the interpreter: numbers for weave.py and polish.py.
"""
import sys

from .recorder import recorder

# An instruction without a line makes no line event for debuggers, from 3.10.
NOWHERE = sys.version_info >= (3, 10) and sys.implementation.name == "cpython"

# What no string has at its end: the compiler leaves the subscript to be done.
# Where Python code records events, a call of __getitem__ takes no frame of the
# interpreter's own, from 3.11.
FAR = 1 << 20 if not recorder.native and NOWHERE and (3, 11) <= sys.version_info < (3, 14) else None
