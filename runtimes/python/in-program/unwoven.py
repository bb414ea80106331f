"""Gives code and functions as they are without checkpoints. The code is compiled from
its source again, so its source has to be what it was.
"""
from .events import OWN
from .files import read_source
from .recorder import recorder

Code = type((lambda: 0).__code__)
Function = type(lambda: 0)


def unwoven(value):
    """A value without checkpoints in its code, and in that of tuples, lists and dicts in
    it. ValueError where the source of a code object is not to be had."""
    kinds = {type(make(OWN)) for make in recorder.makers.values()}
    return without(value, kinds)


def without(value, kinds):
    kind = type(value)
    if kind is Code:
        return original(value) if has_any(value, kinds) else value
    if kind is Function and has_any(value.__code__, kinds):
        code = original(value.__code__)
        new = Function(code, value.__globals__, value.__name__, value.__defaults__, value.__closure__)
        new.__kwdefaults__ = value.__kwdefaults__
        return new
    if kind is tuple or kind is list:
        return kind([without(v, kinds) for v in value])
    if kind is dict:
        return {k: without(v, kinds) for k, v in value.items()}
    return value


def has_any(code, kinds):
    for c in code.co_consts:
        if type(c) in kinds or type(c) is Code and has_any(c, kinds):
            return True
    return False


def original(code):
    """The code object of the source that a woven one stands for."""
    try:
        module = compile(read_source(code.co_filename), code.co_filename, "exec", 0, True)
    except (OSError, SyntaxError) as e:
        raise ValueError("unmarshallable object: %s" % e)
    found = [c for c in all_of(module) if about(c) == about(code)]
    if not found or any([c != found[0] for c in found]):
        raise ValueError("unmarshallable object: %s has changed" % code.co_filename)
    return found[0]


def all_of(code):
    yield code
    for c in code.co_consts:
        if type(c) is Code:
            yield from all_of(c)


def about(code):
    """What a woven code object has in common with the one without checkpoints."""
    return (getattr(code, "co_qualname", code.co_name), code.co_firstlineno, code.co_argcount, code.co_kwonlyargcount,
            code.co_varnames, code.co_freevars, code.co_names, columns(code))


def columns(code):
    """Where the code of a lambda is, which may share its line with others."""
    if code.co_name != "<lambda>" or not hasattr(code, "co_positions"):
        return None
    return frozenset([p for p in code.co_positions() if None not in p and p[2] < p[3]])
