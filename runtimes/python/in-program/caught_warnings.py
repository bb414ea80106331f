"""Hears the warnings that cg's own compiling gives, and keeps them from being
shown: the program's compiling gives them again.
"""
import _thread
import sys


class CaughtWarnings(type):
    """A context that hears this thread's warnings. It stands in the category of
    a filter: to change the list in place, unlike warnings.catch_warnings, makes
    nobody forget what has been shown."""

    def __new__(mcs):
        caught = super().__new__(mcs, "CaughtWarnings", (Warning,), {})
        caught.heard, caught.thread = False, _thread.get_ident()
        return caught

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
