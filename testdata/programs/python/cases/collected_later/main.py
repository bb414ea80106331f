# needs 3.11
# not saved: its module is made of text
# not by line: as without the native library
# not pure: what makes the objects of a syntax tree leaves some of its own behind
# Garbage is collected when the program has made enough objects, and not because cg makes
# some while it adds checkpoints to a module.
import gc
import os
import sys


class Node:
    def __init__(self): self.me = self
    def __del__(self): print("collected")


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "many.py"), "w") as f:
    f.write("".join(["def f%d(a, b=2):\n    for i in range(a):\n        b += i * a + [a, b][0]\n    return b\n" % i for i in range(300)]))
try:
    gc.set_threshold(3000, 1000, 1000)
    gc.collect()
    Node()
    many = __import__("many")
    print("imported", len([n for n in vars(many) if n[0] == "f"]))
finally:
    os.remove(f.name)
    sys.dont_write_bytecode = True
gc.collect()
print("end")
