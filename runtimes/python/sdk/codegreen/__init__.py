"""codegreen: what named parts of a Python program cost in joules.

    import codegreen

    with codegreen.Session("training-run") as s:
        with s.task("train"):
            train()

The file that a session writes, and all rules, are in docs/session.md of cg.
"""
from ._result import TaskResult
from ._session import Session
from ._task import task

__version__ = "0.1.0"
__all__ = ["Session", "TaskResult", "task", "jouleit", "annotate_request", "dropped_annotations", "checkpoint",
           "measure_checkpoint", "CounterEvent", "CounterEventStream"]


def checkpoint(checkpoint_id, name, checkpoint_type):
    """Tells that a call of the function name begins ("enter") or ends ("exit").

    checkpoint_id stands for the place. Under cg it is an event of the run; else
    the program prints a block of results at its end.
    """
    from codegreen_runtime import checkpoint
    checkpoint(checkpoint_id, name, checkpoint_type)


def measure_checkpoint(checkpoint_id, checkpoint_type, name, line_number, context):
    """As checkpoint; line_number and context are for readers of the source."""
    from codegreen_runtime import measure_checkpoint
    measure_checkpoint(checkpoint_id, checkpoint_type, name, line_number, context)


def load_ipython_extension(ipython):
    """%load_ext codegreen: the magic %%joules."""
    from ._ipython import load
    load(ipython)


def __getattr__(name):
    # Sessions do without what requests and streams of events need.
    if name in ("annotate_request", "dropped_annotations"):
        from . import _requests
        return getattr(_requests, name)
    if name == "jouleit":
        from ._jouleit import jouleit
        return jouleit
    if name in ("CounterEvent", "CounterEventStream"):
        from . import event_counters
        return getattr(event_counters, name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
