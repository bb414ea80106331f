"""Puts checkpoints into a module's syntax tree, where cg's plan says. It takes
a source.Source and a plan, and returns its sites and compiled code. What the
interpreter refuses is its SyntaxError.

The tree is the interpreter's own, so positions, scopes and constants stay
what they were; the checkpoints are string constants that recorder.enliven
replaces in the finished code:

    -"mark"          an event
    "mark"[FAR]      the same, where Python code records it
    "mark"[value]    an event once value is known, gives value
    "mark" << value  the same

Nothing raises in them, and what they are placed next to keeps its position.
"""
import sys

from .caught_warnings import CaughtWarnings
from .events import ENTER, EXIT, MARK, PLACE, RESUME, SUSPEND, UNWIND
from .marks import FAR, NOWHERE
from .polish import polish
from .recorder import recorder
from .run import run
from .syntax import ast

ONLY_AST = 0x400  # PyCF_ONLY_AST

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES = tuple(getattr(ast, n) for n in ("Try", "TryStar") if hasattr(ast, n))
BLOCKS = TRIES + (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)
LISTS = (ast.ListComp, ast.SetComp, ast.DictComp)
TEXT = type("")

# Nodes and fields that have no other nodes in them, or only such as say how a name
# is used and which operator stands there; and statements that have no others.
LEAVES = frozenset([ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.Import,
                    ast.ImportFrom, str, int, type(None)])
WITHOUT_NODES = frozenset(["ctx", "op", "ops", "id", "attr", "kind", "names", "module", "level", "type_comment",
                           "type_ignores", "conversion", "simple", "is_async"])
SIMPLE = frozenset([ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Delete])
FIELDS = {}  # kind of node -> names

# A comprehension has a frame of its own, before PEP 709.
FRAMED = sys.version_info < (3, 12)
LITERALS = tuple(getattr(ast, n) for n in (
    "Constant", "Tuple", "List", "ListComp", "Dict", "DictComp", "Set", "SetComp", "GeneratorExp", "Lambda",
    "JoinedStr", "FormattedValue", "TemplateStr", "Interpolation", "Starred") if hasattr(ast, n))


def weave(source, plan):
    """(sites, code, quiet): quiet says that compiling gave no warning."""
    sites, left, points, inside = [], [], {}, set()
    for line in plan.split("\n"):
        f = line.split("\t")
        if f[0] == "L":
            left.append(line)
        elif f[0] == "S":
            sites.append(line)
        elif f[:2] == ["P", "places"]:
            inside.add(int(f[4]))
        elif f[0] == "P":
            points[f[1], int(f[2]), int(f[3])] = int(f[4])
    with CaughtWarnings() as caught:
        code, places = attempt(source, points, sites, inside)
    quiet = source.mute or not caught.heard
    if not quiet:
        compile(source.content, source.path, "exec", 0, True)  # once more, to be heard
    return "\n".join(sites + places + left), polish(code), quiet


def attempt(source, points, sites, inside):
    """(code, lines of the places' sites)"""
    content, path, parse = source.content, source.path, source.parse
    for _ in range(100):
        tree = parse(source.text) if parse else compile(content, path, "exec", ONLY_AST, True)
        # Only what the interpreter has parsed itself stands where it says.
        weaver = Weaver(tree, points, [] if parse else sorted({line for _, line, _ in points}))
        weaver.find_places(sites, inside)
        weaver.apply()
        try:
            return compile(tree, path, "exec", 0, True), weaver.place_sites
        except (SyntaxError, RecursionError) as e:
            if not parse:
                compile(content, path, "exec", 0, True)  # the program's own fault?
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
    else:  # 3.8 does not tell: the one with the deepest blocks
        deepest, levels = 0, {tree: (0, None)}
        for node, parent, _ in walk(tree):
            level, function = levels.get(parent, (0, None))
            if isinstance(node, FUNCTIONS):
                level, function = 0, node
            elif isinstance(node, BLOCKS):
                level += 1
            levels[node] = level, function
            if level > deepest and function and ("body", function.lineno, function.col_offset) in points:
                deepest, best = level, function
    if best is None:
        return False
    gone = points.get(("body", best.lineno, best.col_offset))
    for key in [k for k, site in points.items() if site == gone]:
        del points[key]
    return gone is not None


def walk(tree, lines=None):
    """(node, parent, field) for every node that others can be in, parents first,
    without recursion. With lines, those of a plan's points, sorted: without the
    statements in which none of them is."""
    out, todo = [], [(tree, None, None)]
    while todo:
        item = todo.pop()
        out.append(item)
        node = item[0]
        for name in fields(type(node)):
            value = getattr(node, name, None)
            if type(value) is list:
                for v in value:
                    kind = type(v)
                    if kind in LEAVES or lines and kind in SIMPLE and not has_points(v, lines):
                        continue
                    if isinstance(v, ast.AST):
                        todo.append((v, node, name))
            elif type(value) not in LEAVES and isinstance(value, ast.AST):
                todo.append((value, node, name))
    return out


def fields(kind):
    """The names of fields in which a kind of node has others."""
    found = FIELDS.get(kind)
    if found is None:
        found = FIELDS[kind] = tuple([name for name in kind._fields if name not in WITHOUT_NODES])
    return found


def has_points(statement, lines):
    """Whether a statement, which has no others in it, is on one of the lines."""
    low, high, first = 0, len(lines), statement.lineno
    while low < high:
        middle = (low + high) // 2
        if lines[middle] < first:
            low = middle + 1
        else:
            high = middle
    return low < len(lines) and lines[low] <= statement.end_lineno


def framed(nodes):
    """How many frames of comprehensions each node of a walk is below its
    function's; what is in none has no entry."""
    up, firsts = {}, {}
    for node, parent, field in nodes:
        n = up.get(parent, 0)
        if type(parent) in LISTS:
            n += 1
            if node is parent.generators[0]:
                firsts[node] = n - 1  # its iterable belongs to the frame around
        elif field == "iter" and parent in firsts:
            n = firsts[parent]
        elif type(parent) is ast.Lambda and field == "body":
            n = 0
        if n:
            up[node] = n
    return up


def place(new, old, end=False):
    """Gives a new node the position of an old one, or none."""
    if NOWHERE and (old is None or end is not None):
        new.lineno = new.end_lineno = new.col_offset = new.end_col_offset = -1
    elif old is None:
        new.lineno = new.end_lineno = 1
        new.col_offset = new.end_col_offset = 0
    else:
        put(new, old)
    return new


def put(new, old):
    """Gives a new node the position of an old one."""
    new.lineno, new.col_offset = old.lineno, old.col_offset
    new.end_lineno, new.end_col_offset = old.end_lineno, old.end_col_offset


def at(new, old):
    """Gives a new expression the position of an old one."""
    return place(new, old, None)


class Weaver:
    def __init__(self, tree, points, lines):
        self.tree, self.points = tree, points
        self.nodes = walk(tree, lines)
        self.pausing = {site for (role, _, _), site in points.items() if role == "pause"}
        self.asynchronous = {points.get(("body", n.lineno, n.col_offset)) for n, _, _ in self.nodes
                             if type(n) is ast.AsyncFunctionDef}
        self.first = tree.body[0] if tree.body else None
        self.place_sites = []
        self.placed = {}  # yield or await -> the place in which it stands

    def find_places(self, sites, inside):
        if inside and recorder.native:
            from .places import Places
            Places(self, sites, inside, run.places == "line").put()

    def mark(self, kind, site, how="p", up=0):
        # A site whose frames can be suspended has checkpoints that look, in
        # ways that events.PAUSES tells.
        if site not in self.pausing:
            how = ""
        node = ast.Constant(value="%s%d:%d%s" % (MARK, kind | up << 11, site, how))
        node.kind = None
        return node

    def event(self, kind, site, near, how="p"):
        mark = place(self.mark(kind, site, how), near)
        if FAR:
            value = ast.Subscript(value=mark, slice=place(ast.Constant(value=FAR, kind=None), near), ctx=ast.Load())
        else:
            value = ast.UnaryOp(op=ast.USub(), operand=mark)
        return place(ast.Expr(value=place(value, near)), near)

    def passing(self, mark, value, near):
        at(mark, near)
        # An operator cannot give NotImplemented. The compiler warns of some
        # indices of a string, all of which are something else.
        if isinstance(value, LITERALS):
            return at(ast.BinOp(left=mark, op=ast.LShift(), right=value), near)
        index = value if sys.version_info >= (3, 9) else ast.Index(value=value)
        return at(ast.Subscript(value=mark, slice=index, ctx=ast.Load()), near)

    def apply(self):
        up = framed(self.nodes) if self.pausing and FRAMED else {}
        # Inner nodes first: what an outer one wraps is then complete.
        for node, parent, field in reversed(self.nodes):
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
                    self.wrap_pause(node, parent, field, site, up.get(node, 0))
            elif kind in LISTS:
                site = self.at("pause", node)
                if site is not None:
                    first, n = node.generators[0], up.get(node, 0)
                    first.iter = self.passing(self.mark(SUSPEND, site, "p", n), first.iter, first.iter)
                    self.replace(parent, field, node, self.back(node, site, n))
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
            first = self.first
            if n == 0 and first and NOWHERE and sys.version_info < (3, 11):
                # The first line of a module's code is that of its first instruction.
                enter = self.tree.body[0]
                for node in enter, enter.value, enter.value.operand:
                    put(node, first)
            elif n == 0 and first and sys.version_info >= (3, 14):
                # The code of the module's annotations (PEP 649) begins on the
                # line of its first statement, and needs one.
                put(self.tree.body[0], first)

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
        node.body = self.passing(self.mark(EXIT, site), body, node.body)

    def wrap_pause(self, node, parent, field, site, up):
        if node.value is None:
            node.value = at(ast.Constant(value=None), node)
            node.value.kind = None
        how = "w" if not isinstance(node, ast.Yield) else "y" if site in self.asynchronous else "p"
        node.value = self.passing(self.mark(SUSPEND, site, how, up), node.value, node.value)
        self.replace(parent, field, node, self.back(node, site, up))

    def back(self, node, site, up):
        """An expression behind which the frame is back, where it was."""
        new = self.passing(self.mark(RESUME, site, "p", up), node, node)
        if node in self.placed:
            new = self.passing(self.mark(PLACE, self.placed[node]), new, node)
        return new

    def replace(self, parent, field, node, new):
        value = getattr(parent, field)
        if isinstance(value, list):
            value[identity(value, node)] = new
        else:
            setattr(parent, field, new)

    def wrap_async(self, node, parent, field, site):
        # Between the parts of the statement that are the program's own, the
        # frame awaits: the iterator's next value, the manager's two methods.
        if isinstance(node, ast.AsyncFor):
            node.iter = self.passing(self.mark(SUSPEND, site, "v"), node.iter, node.iter)
        else:
            # Before the second manager is made, the frame is back from the
            # first one's await: each has a statement of its own.
            if len(node.items) > 1:
                inner = at(ast.AsyncWith(items=node.items[1:], body=node.body, type_comment=None), node)
                node.items, node.body = node.items[:1], [inner]
                self.wrap_async(inner, node, "body", site)
            item = node.items[0]
            item.context_expr = self.passing(self.mark(SUSPEND, site, "v"), item.context_expr, item.context_expr)
        # However the statement is left, by break or continue or an exception
        # that somebody handles, the frame then runs. Thrown into the frame
        # while it was away, the exception is the first to say that it is back.
        last = node.body[-1]
        resume = self.event(RESUME, site, node.body[0])
        guard = ast.Try(body=node.body, handlers=[], orelse=[],
                        finalbody=[self.event(UNWIND, site, last), self.event(SUSPEND, site, last, "g")])
        node.body = [resume, place(guard, node.body[0])]
        if isinstance(node, ast.AsyncFor) and node.orelse:
            node.orelse.insert(0, self.event(UNWIND, site, node.orelse[0]))
        body = getattr(parent, field)
        around = ast.Try(body=[node], handlers=[], orelse=[], finalbody=[self.event(UNWIND, site, node, "h")])
        where = identity(body, node)
        body[where:where + 1] = [self.event(SUSPEND, site, node, "o"), place(around, node)]


def identity(nodes, node):
    for i, n in enumerate(nodes):
        if n is node:
            return i
    raise ValueError("a statement is not where it was")


def documented(body):
    return bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) \
        and isinstance(body[0].value.value, TEXT)
