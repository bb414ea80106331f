"""Puts checkpoints into a module's syntax tree, where cg's plan says.

The tree is the interpreter's own, so positions, scopes and constants stay
what they were; the checkpoints are string constants that hook.enliven
replaces in the finished code:

    -"mark"          an event
    "mark" << value  an event once value is known

Nothing raises in them, and what they are placed next to keeps its position.
"""
import _ast as ast
import sys

ENTER, EXIT, SUSPEND, RESUME, UNWIND = range(5)
ONLY_AST = 0x400  # PyCF_ONLY_AST

# An instruction without a line makes no line event for debuggers, from 3.11.
NOWHERE = sys.version_info >= (3, 11)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES = tuple(getattr(ast, n) for n in ("Try", "TryStar") if hasattr(ast, n))
TEXT = type("")


def decode(source):
    """Source bytes to text, as the interpreter decodes them; newlines as \\n."""
    import codecs
    if source.startswith(codecs.BOM_UTF8):
        source, name = source[3:], "utf-8"
    else:
        name = "utf-8"
        for line in source.split(b"\n", 2)[:2]:
            found = cookie(line)
            if found:
                name = found
                break
            if line.strip() and not line.lstrip().startswith(b"#"):
                break
    text = source.decode(name)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def cookie(line):
    """The encoding that a comment line declares (PEP 263), None for none."""
    line = line.lstrip(b" \t\f")
    if not line.startswith(b"#"):
        return None
    at = line.find(b"coding")
    while at >= 0:
        rest = line[at + 6:]
        if rest[:1] in (b":", b"="):
            rest = rest[1:].lstrip(b" \t")
            n = 0
            while n < len(rest) and (rest[n:n + 1].isalnum() or rest[n:n + 1] in b"-_."):
                n += 1
            if n:
                return rest[:n].decode("ascii")
        at = line.find(b"coding", at + 1)
    return None


def weave(text, source, path, plan):
    """(sites, code, quiet): quiet says that compiling gave no warning."""
    sites, points = [], {}
    for line in plan.split("\n"):
        f = line.split("\t")
        if f[0] == "S":
            sites.append(line)
        elif f[0] == "P":
            points[f[1], int(f[2]), int(f[3])] = int(f[4])
    import warnings
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        code = attempt(text, source, path, points)
    quiet = not seen
    if not quiet:
        compile(source, path, "exec", 0, True)  # once more, to be heard
    return "\n".join(sites), code, quiet


def attempt(text, source, path, points):
    for _ in range(100):
        tree = compile(source, path, "exec", ONLY_AST, True)
        Weaver(tree, points).apply()
        try:
            return compile(tree, path, "exec", 0, True)
        except (SyntaxError, RecursionError) as e:
            compile(source, path, "exec", 0, True)  # the program's own fault?
            if not drop(tree, points, getattr(e, "lineno", None)):
                raise
    raise ValueError("the interpreter refuses the woven module")


def drop(tree, points, line):
    """Takes the function around a line out of the plan: one that is nested as
    deep as the interpreter allows has no room for another block."""
    best = None
    if line is not None:
        for node, _, _ in walk(tree):
            if isinstance(node, FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0):
                best = node  # inner ones come later
    if best is None:
        return False
    gone = points.get(("body", best.lineno, best.col_offset))
    for key in [k for k, site in points.items() if site == gone]:
        del points[key]
    return gone is not None


def walk(tree):
    """(node, parent, field) for every node, parents first, without recursion."""
    out, todo = [], [(tree, None, None)]
    while todo:
        item = todo.pop()
        out.append(item)
        node = item[0]
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                for v in value:
                    if isinstance(v, ast.AST):
                        todo.append((v, node, name))
            elif isinstance(value, ast.AST):
                todo.append((value, node, name))
    return out


def place(new, old, end=False):
    """Gives a new node the position of an old one, or none."""
    if NOWHERE and (old is None or end is not None):
        new.lineno = new.end_lineno = new.col_offset = new.end_col_offset = -1
    elif old is None:
        new.lineno = new.end_lineno = 1
        new.col_offset = new.end_col_offset = 0
    else:
        new.lineno, new.col_offset = old.lineno, old.col_offset
        new.end_lineno, new.end_col_offset = old.end_lineno, old.end_col_offset
    return new


def at(new, old):
    """Gives a new expression the position of an old one."""
    return place(new, old, None)


class Weaver:
    def __init__(self, tree, points):
        self.tree, self.points = tree, points

    def mark(self, kind, site):
        node = ast.Constant(value="%s%d:%d" % (MARK, kind, site))
        node.kind = None
        return node

    def event(self, kind, site, near):
        value = place(ast.UnaryOp(op=ast.USub(), operand=place(self.mark(kind, site), near)), near)
        return place(ast.Expr(value=value), near)

    def passing(self, kind, site, value, near):
        return at(ast.BinOp(left=at(self.mark(kind, site), near), op=ast.LShift(), right=value), near)

    def apply(self):
        # Inner nodes first: what an outer one wraps is then complete.
        for node, parent, field in reversed(walk(self.tree)):
            kind = type(node)
            if kind in FUNCTIONS:
                site = self.at("body", node)
                if site is not None:
                    node.body = self.wrapped(node.body, site, 1 if documented(node.body) else 0)
            elif kind is ast.Lambda:
                site = self.at("lambda", node)
                if site is not None:
                    self.wrap_lambda(node, site)
            elif kind is ast.Yield or kind is ast.YieldFrom or kind is ast.Await:
                site = self.at("pause", node)
                if site is not None:
                    self.wrap_pause(node, parent, field, site)
            elif kind is ast.AsyncFor or kind is ast.AsyncWith:
                site = self.at("pause", node)
                if site is not None:
                    self.wrap_async(node, parent, field, site)
            elif kind in TRIES:
                site = self.at("handlers", node)
                if site is not None:
                    for body in [h.body for h in node.handlers] + [node.finalbody]:
                        if body:
                            body.insert(0, self.event(UNWIND, site, body[0]))
        site = self.points.get(("module", 1, 0))
        if site is not None:
            body = self.tree.body
            n = 1 if documented(body) else 0
            while n < len(body) and isinstance(body[n], ast.ImportFrom) and body[n].module == "__future__":
                n += 1
            self.tree.body = self.wrapped(body, site, n)

    def at(self, role, node):
        return self.points.get((role, node.lineno, node.col_offset))

    def wrapped(self, body, site, keep):
        first, rest = body[:keep], body[keep:]
        near = rest[0] if rest else first[-1] if first else None
        enter = self.event(ENTER, site, near)
        if not rest:
            return first + [enter, self.event(EXIT, site, near)]
        guard = ast.Try(body=rest, handlers=[], orelse=[], finalbody=[self.event(EXIT, site, rest[-1])])
        return first + [enter, place(guard, near)]

    def wrap_lambda(self, node, site):
        # exit << (-enter or body): -enter is None
        enter = at(ast.UnaryOp(op=ast.USub(), operand=at(self.mark(ENTER, site), node.body)), node.body)
        body = at(ast.BoolOp(op=ast.Or(), values=[enter, node.body]), node.body)
        node.body = self.passing(EXIT, site, body, node.body)

    def wrap_pause(self, node, parent, field, site):
        if node.value is None:
            node.value = at(ast.Constant(value=None), node)
            node.value.kind = None
        node.value = self.passing(SUSPEND, site, node.value, node.value)
        new = self.passing(RESUME, site, node, node)
        value = getattr(parent, field)
        if isinstance(value, list):
            value[identity(value, node)] = new
        else:
            setattr(parent, field, new)

    def wrap_async(self, node, parent, field, site):
        # Between the parts of the statement that are the program's own, the
        # frame awaits: the iterator's next value, the manager's two methods.
        if isinstance(node, ast.AsyncFor):
            node.iter = self.passing(SUSPEND, site, node.iter, node.iter)
        else:
            item = node.items[0]
            item.context_expr = self.passing(SUSPEND, site, item.context_expr, item.context_expr)
        resume = self.event(RESUME, site, node.body[0])
        guard = ast.Try(body=node.body, handlers=[], orelse=[],
                        finalbody=[self.event(SUSPEND, site, node.body[-1])])
        node.body = [resume, place(guard, node.body[0])]
        if isinstance(node, ast.AsyncFor) and node.orelse:
            node.orelse.insert(0, self.event(UNWIND, site, node.orelse[0]))
        body = getattr(parent, field)
        body.insert(identity(body, node) + 1, self.event(UNWIND, site, node))


def identity(nodes, node):
    for i, n in enumerate(nodes):
        if n is node:
            return i
    raise ValueError("a statement is not where it was")


def documented(body):
    return bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) \
        and isinstance(body[0].value.value, TEXT)
