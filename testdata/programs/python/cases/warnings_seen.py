# not saved: its lines move
# not pure: a frame of the pure runtime stands below the script
# Warnings are shown once for each place, with its line, and loggers find their
# callers: both look at frames and at names of modules.
import logging
import sys
import warnings


def deprecated(level=2):
    warnings.warn("deprecated", DeprecationWarning, stacklevel=level)


def twice():
    for _ in range(3):
        deprecated()


def deep(level): return (lambda: [deprecated(level)])()


class Old:
    def __init_subclass__(cls): deprecated(2)
    def __getattr__(self, name): deprecated(); return name
    def __del__(self): warnings.warn("in del", ResourceWarning, stacklevel=1)


def gen():
    deprecated()
    yield deprecated(3)


def explicit():
    warnings.warn_explicit("explicit", UserWarning, __file__, 3, registry=globals().setdefault("__warningregistry__", {}))


def at_the_bottom():
    deprecated(50)


def log(level=1): logging.warning("logged", **({"stacklevel": level} if level > 1 else {}))
def logs(): log(); log(2); (lambda: log(3))(); return [log(2) for _ in range(1)]


def filename(record): return record.filename == "warnings_seen.py"


twice()
twice()
for level in range(1, 7):
    deep(level)
print(sorted((k[0], k[1].__name__, k[2]) for k in __warningregistry__ if isinstance(k, tuple)))


class New(Old): pass


Old().attribute
list(gen())
explicit()
explicit()
at_the_bottom()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    twice()
    deep(3)
print([(w.lineno, w.filename == __file__, str(w.message)) for w in seen])
warnings.filterwarnings("ignore", module="__main__")
deprecated()
warnings.resetwarnings()
warnings.filterwarnings("error", message="depr")
try:
    twice()
except DeprecationWarning as e:
    print(repr(e), e.__traceback__.tb_next.tb_lineno)
warnings.resetwarnings()
warnings.simplefilter("default")
twice()
open(__file__)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(name)s %(funcName)s %(lineno)d %(module)s %(message)s", None))
handler.addFilter(filename)
logging.getLogger().addHandler(handler)
logging.getLogger().handlers[:] = [handler]
logs()
log()
logging.captureWarnings(True)
twice()
logging.getLogger("x").warning("stack", stack_info=False)
print(len(warnings.filters), warnings.filters[0][:1])


def coroutine_forgotten():
    async def forgotten(): pass
    forgotten()


logging.captureWarnings(False)
coroutine_forgotten()
