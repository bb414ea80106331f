"""Weaves checkpoints into the program's modules as they are loaded. It takes the
file that cg left for this run, and takes over modules, the script and the text on
the command line. Whatever fails leaves the program as it is and is reported to
cg.

The modules of this folder import built-in ones only, so that no file of the
program can take their place; what they import stays out of the program's sight.
"""
import sys

from .archives import take_over_archives
from .imports import take_over_imports
from .marshalling import let_code_be_marshalled
from .offered import offer
from .pickling import let_checkpoints_be_pickled
from .recorder import open_channel, recorder
from .run import run
from .server import ask


def start(path):
    run.read(path)
    if run.ahead == "work":
        from .ahead import work
        work()
    if not open_channel():
        offer(None)
        return
    offer((ask, lambda bits: -recorder.checkpoint(bits)))
    let_checkpoints_be_pickled()
    let_code_be_marshalled()
    take_over_imports()
    take_over_archives()
    if run.nested:
        from .nested import mend_path
        mend_path()
        return
    if sys.argv[:1] in (["-c"], [""], ["-"]):
        from .command_text import take_over_text
        take_over_text()
    else:
        from .script import take_over_script
        take_over_script()
