"""Compiles the modules of this folder. It takes their sources and returns
their code and which of them every start needs.

In a source, a line "from .MODULE import A, B" stands for a call of importing's
load; it is the only form of import of a module of this folder, and names no line
breaks. A module that is imported in a function is not needed by each start.
"""
import _imp
import marshal
import os

# The file name is importlib's own, as the module's name is: tracebacks leave out
# its frames, and debuggers that skip the import system skip it, as every other
# import hook of the interpreter.
FILE = "<frozen importlib._bootstrap_external>"

FIRST = "start", "importing", "script"


def make(folder, read, cached, about):
    """The code of all modules of a folder, which is kept in two files: those that
    each start needs, and with ".more" the others. A kept file begins with the hash
    of its content and of what it is about."""
    text = {name[:-3]: read(folder + "/" + name) for name in os.listdir(folder) if name.endswith(".py")}
    first, others = compile_all(text)
    scope = {"__name__": __name__}
    exec(first["files"], scope)
    for name, part in (cached, first), (cached + ".more", others):
        content = marshal.dumps(part)
        scope["write_private"](name, [_imp.source_hash(0x6367, content + about), content])
    return dict(others, **first)


def compile_all(sources):
    """({module: code}, {module: code as marshal writes it}) from {module: source}:
    those that each start needs, and the others."""
    code, needs = {}, {}
    for module, source in sources.items():
        code[module], needs[module] = compiled(source)
    first, todo = {}, list(FIRST)
    while todo:
        module = todo.pop()
        if module not in first:
            first[module] = code[module]
            todo += needs[module]
    return first, {module: marshal.dumps(code[module]) for module in code if module not in first}


def compiled(source):
    """The code of a module, and the modules that it imports when it is executed."""
    lines, needs = source.split(b"\n"), []
    for i, line in enumerate(lines):
        before, found, names = line.partition(b" import ")
        module = before.lstrip()
        if found and module.startswith(b"from ."):
            indent = before[:len(before) - len(module)]
            names = [name.strip() for name in names.split(b",")]
            lines[i] = indent + b", ".join(names) + b", = load_names('" + b"', '".join([module[6:]] + names) + b"')"
            if not indent:
                needs.append(module[6:].decode())
    # Without docstrings a start reads less.
    return compile(b"\n".join(lines), FILE, "exec", 0, True, 2), needs
