"""Code that marshal writes, or that is sent to another interpreter of the process, is
that which the interpreter compiles from its source: marshal knows no checkpoint.
"""
import _frozen_importlib as bootstrap
import _frozen_importlib_external as machinery
import marshal
import sys

SENDING = "exec", "run_func", "call"  # functions of _interpreters that take a function second


def let_code_be_marshalled():
    dumps, dump = marshal.dumps, marshal.dump

    def plain_dumps(value, *more):
        try:
            return dumps(value, *more)
        except ValueError:
            from .unwoven import unwoven
            return dumps(unwoven(value), *more)

    def plain_dump(value, file, *more):
        file.write(plain_dumps(value, *more))

    for name, function, original in ("dumps", plain_dumps, dumps), ("dump", plain_dump, dump):
        function.__name__ = function.__qualname__ = name
        function.__module__, function.__doc__ = "marshal", original.__doc__
        setattr(marshal, name, function)
    if sys.version_info >= (3, 13):
        let_functions_be_sent()


def let_functions_be_sent():
    for loader in bootstrap.BuiltinImporter, machinery.ExtensionFileLoader:
        def exec_module(*args, original=loader.exec_module):
            value = original(*args)
            if args[-1].__name__ == "_interpreters":
                meet_interpreters(args[-1])
            return value

        static = loader is bootstrap.BuiltinImporter
        loader.exec_module = staticmethod(exec_module) if static else exec_module


def meet_interpreters(module):
    for name in SENDING:
        original = getattr(module, name, None)
        if original is None:
            continue

        def send(id, function, *args, original=original, **named):
            from .unwoven import unwoven
            try:
                function = unwoven(function)
            except ValueError:
                pass  # the interpreter says so
            return original(id, function, *args, **named)

        send.__name__ = send.__qualname__ = name
        send.__module__, send.__doc__ = module.__name__, original.__doc__
        setattr(module, name, send)
