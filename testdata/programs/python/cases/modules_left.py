# not saved: it lists its names, one more then
# A program that lists its modules finds those it imported. (The first run,
# which weaves, needs some more for a moment.)
import sys


def listed():
    return sorted(sys.modules)


print(listed())
print(sys.modules["__main__"], getattr(sys, "stdlib_module_names", None) is None or "cgprobe" in sys.modules)
