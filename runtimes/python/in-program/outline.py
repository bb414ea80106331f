"""Finds where checkpoints stand in a module, in the interpreter's own tree.

It plans the texts that cg's grammar cannot place and the interpreter can: the
same sites and points, in the same order, as languages/python/plan.go finds in any
other text. It takes the text and returns the lines of a plan. What the interpreter
cannot parse is its SyntaxError. It is loaded for such a text only. "cg analyze" runs this
file alone.
"""
try:
    from .syntax import ast
except ImportError:
    import _ast as ast

ONLY_AST = 0x400  # PyCF_ONLY_AST


def nodes(*names):
    return tuple(getattr(ast, n) for n in names if hasattr(ast, n))


FUNCTIONS = nodes("FunctionDef", "AsyncFunctionDef")
PAUSES = nodes("Yield", "YieldFrom", "Await")
ASYNC = nodes("AsyncFor", "AsyncWith")
TRIES = nodes("Try", "TryStar")
LISTS = nodes("ListComp", "SetComp", "DictComp")

# As compilers in languages/python/plan.go.
COMPILERS = {
    "njit": "numba", "jit": "numba", "*.njit": "numba", "numba.*": "numba", "nb.*": "numba", "cuda.jit": "numba",
    "vectorize": "numba", "guvectorize": "numba", "cfunc": "numba", "stencil": "numba", "jitclass": "numba",
    "numba.experimental.jitclass": "numba", "*.cuda.jit": "numba",
    "torch.jit.*": "torch", "torch.compile": "torch", "triton.jit": "triton", "triton.*": "triton",
    "jax.jit": "jax", "jax.*": "jax", "tf.function": "tensorflow", "tensorflow.function": "tensorflow",
    "ti.kernel": "taichi", "ti.func": "taichi", "taichi.kernel": "taichi", "taichi.func": "taichi",
    "*.jit": "a just-in-time compiler",
}


class Scope:
    """A part of the source with one owner. site is an item of outline's sites,
    None for a part that runs on nobody's behalf. away says that the frame is
    suspended, but for what awaits here."""

    def __init__(self, name, site, compiled=False, is_class=False, away=False):
        self.name, self.site, self.compiled, self.is_class, self.away = name, site, compiled, is_class, away

    def qualify(self, name):
        if not self.name:
            return name
        return self.name + ("." if self.is_class else ".<locals>.") + name


def outline(text, name="<text>"):
    """The lines that instrument.Encode gives for a plan of everything, each of
    a point with the line and the column of its end besides."""
    tree = compile(text, name, "exec", ONLY_AST, True)
    sites, left, points = [], [], []

    def site(kind, name, node):
        new = (node.lineno, node.col_offset, node.end_lineno, kind, name)
        sites.append(new)
        return new

    def point(role, node, site):
        if site:
            points.append((node.lineno, node.col_offset, role, site, node.end_lineno, node.end_col_offset))

    end = 1 + text.rstrip("\r\n").count("\n")
    module = Scope("", (1, 0, end, "module", "<module>"))
    sites.append(module.site)
    points.append((1, 0, "module", module.site, end, 0))
    todo = [(node, module) for node in reversed(tree.body)]
    while todo:
        node, here = todo.pop()
        kind = type(node)
        body = here  # of what stands in it
        if kind in FUNCTIONS or kind is ast.ClassDef:
            name = here.qualify(node.name)
            by = "" if here.compiled else compiler(node)
            if by:
                left.append((node.lineno, name, "left alone: %s compiles it" % by))
            compiled = here.compiled or by != ""
            if kind is ast.ClassDef:
                body = Scope(name, here.site, compiled, True)
            else:
                what = "function"
                if here.is_class:
                    what = "constructor" if node.name in ("__init__", "__new__") else "method"
                body = Scope(name, None if compiled else site(what, name, node), compiled)
                point("body", node, body.site)
        elif kind is ast.Lambda:
            name = here.qualify("<lambda>")
            body = Scope(name, None if here.compiled else site("lambda", name, node), here.compiled)
            point("lambda", node, body.site)
        elif kind is ast.GeneratorExp or kind in LISTS and here is not module and waits(node) and not here.away:
            # Only its first iterable belongs to the frame around it.
            if kind is ast.GeneratorExp:
                inner = Scope(here.qualify("<genexpr>"), None, here.compiled)
            else:
                point("pause", node, here.site)
                inner = Scope(here.name, here.site, here.compiled, here.is_class, True)
            first = node.generators[0]
            todo.append((first.iter, here))
            for n in children(node, but="generators") + [first.target] + first.ifs + node.generators[1:]:
                todo.append((n, inner))
            continue
        elif kind in TRIES:
            point("handlers", node, here.site)
        elif here is not module and (kind in PAUSES and not here.away or kind in ASYNC):
            point("pause", node, here.site)
        for n in children(node, "body"):
            todo.append((n, body))
        for n in children(node, but="body"):
            todo.append((n, here))

    # The tree has them by its fields; a plan has them as they stand.
    sites.sort(key=place)
    left.sort(key=lambda l: l[0])
    points.sort(key=place)
    numbers = {id(s): i + 1 for i, s in enumerate(sites)}
    lines = ["S\t%s\t%d\t%d\t%d\t%s\n" % (kind, line, column, end, name)
             for line, column, end, kind, name in sites]
    lines += ["L\t%d\t%s\t%s\n" % l for l in left]
    lines += ["P\t%s\t%d\t%d\t%d\t%d\t%d\n" % (role, line, column, numbers[id(s)], end, end_column)
              for line, column, role, s, end, end_column in points]
    return "".join(lines)


def place(item):
    return item[:2]


def children(node, only=None, but=None):
    found = []
    for field in node._fields:
        if field == but or only and field != only:
            continue
        value = getattr(node, field, None)
        for n in value if isinstance(value, list) else (value,):
            if isinstance(n, ast.AST):
                found.append(n)
    return found


def waits(comprehension):
    """Whether it waits for its values."""
    for g in comprehension.generators:
        if g.is_async:
            return True
    return False


def compiler(definition):
    """What translates a decorated function or class, "" if nothing is known to."""
    for e in definition.decorator_list:
        if isinstance(e, ast.Call):
            f = dotted(e.func)
            if f == "partial" or f.endswith(".partial"):  # functools.partial(jax.jit, ...)
                if not e.args:
                    continue
                e = e.args[0]
            else:
                e = e.func
        name = dotted(e)
        head, dot, last = name.rpartition(".")
        by = COMPILERS.get(name) or dot and (COMPILERS.get(head + ".*") or COMPILERS.get("*." + last))
        if by:
            return by
    return ""


def dotted(node):
    """A name with what stands before its last dot, "?" for what is no name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))
