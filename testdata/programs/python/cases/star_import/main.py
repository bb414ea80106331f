# not saved: it lists its names, one more then
# A star import takes what a module has; a checkpoint is no name of a module.
import names
from names import *
from chosen import *

print(sorted(n for n in dir() if not n.startswith("__")), sorted(dir(names)), f(), g())
try:
    hidden
except NameError as e:
    print(e)
