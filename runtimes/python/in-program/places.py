"""Tells the places of functions apart: each line, or each block, which is a loop or an arm of a branch; what is in no
block is a place of its own, the rest. It takes a weave.Weaver before that changes its tree, and puts checkpoints
between statements: an event PLACE where the code goes to another place. A place is a site without calls.

A place lasts until the next event of its call. So there is one at the end of a loop's body, behind which the head of
the loop runs, and one behind a block. A function without checkpoints has no places. "cg analyze" runs this file alone.
"""
try:
    from .events import PLACE, UNWIND
    from .syntax import ast
except ImportError:
    import _ast as ast
    PLACE = UNWIND = 0

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES = tuple(getattr(ast, n) for n in ("Try", "TryStar") if hasattr(ast, n))
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHS = (ast.With, ast.AsyncWith)
MATCH = getattr(ast, "Match", ())
PAUSES = (ast.Yield, ast.YieldFrom, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp)
JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
SILENT = TRIES + (ast.Pass, ast.Break, ast.Global, ast.Nonlocal)  # no code before what they contain


class Here:
    """Where a list of statements stands: the function's site and name, the place of its block, that of the loop
    around it, and that to which the code goes at the end of the list; None for none."""

    def __init__(self, site, name, place=None, loop=None, back=None):
        self.site, self.name, self.place, self.loop, self.back = site, name, place, loop, back

    def within(self, place=None, loop=None, back=None):
        return Here(self.site, self.name, place or self.place, loop or self.loop, back)


class Places:
    def __init__(self, weaver, sites, told, lines):
        self.weaver, self.told, self.lines = weaver, told, lines
        self.functions = [line.split("\t") for line in sites]
        self.known = {}  # (function, kind, position) -> site
        self.todo = []   # lists of statements, each with where it stands and the place in which it begins

    def put(self):
        body = self.weaver.tree.body
        self.function(body, self.weaver.points.get(("module", 1, 0)))
        while self.todo:
            body, here, at = self.todo.pop()
            body[:] = self.separated(body, here, at)

    def function(self, body, site):
        if site not in self.told:
            site = None
        here, rest = Here(site, ""), None
        if site:
            _, _, line, column, end, here.name = self.functions[site - 1]
            if not self.lines:
                rest = here.place = self.site(here, "rest", int(line), int(column), int(end))
        self.later(body, here, rest)

    def site(self, here, kind, line, column, end, otherwise=False):
        """The site of a place, a new one where it has none. Statements on one line are one place. An else has no
        position: it is told from what it begins with."""
        key = here.site, kind, line, 0 if self.lines else column, otherwise
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = len(self.functions) + len(self.known) + 1
            self.weaver.place_sites.append("S\t%s\t%d\t%d\t%d\t%s" % (kind, line, column, end, here.name))
        return found

    def block(self, here, node, last, otherwise=False):
        return self.site(here, "block", node.lineno, node.col_offset, last.end_lineno or last.lineno, otherwise)

    def later(self, body, here, at):
        if body:
            self.todo.append((body, here, at))

    def separated(self, body, here, at):
        """The statements of a list that begins in a place, with the events between them."""
        out = []
        for s in body:
            place = self.place(s, here) if here.site else None
            if place and place != at:
                out.append(self.weaver.event(PLACE, place, s))
                at = place
            out.append(s)
            if place and here.site in self.weaver.pausing:
                self.note_pauses(s, place)
            if self.inside(s, here, place, at):
                at = None
            if isinstance(s, ast.With) and here.site in self.weaver.pausing:
                # What is thrown into the frame may end here: that says that it is back.
                out.append(self.weaver.event(UNWIND, here.site, s))
        if here.back and here.back != at and not isinstance(body[-1], JUMPS):
            out.append(self.event_behind(here.back, body[-1]))
        return out

    def event_behind(self, place, last):
        """The event of a place behind the last statement of a list."""
        return self.weaver.event(PLACE, place, last)

    def place(self, s, here):
        """The place of a statement, None where it has no code of its own."""
        if isinstance(s, SILENT) or isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) \
                or getattr(s, "module", None) == "__future__":
            return None
        if isinstance(s, ast.Continue):
            return here.loop
        if self.lines:
            blocks = [name for name in ("body", "cases") if hasattr(s, name)]
            return self.site(here, "line", s.lineno, s.col_offset, s.lineno if blocks else s.end_lineno or s.lineno)
        return self.block(here, s, s) if isinstance(s, LOOPS) else here.place

    def inside(self, s, here, place, at):
        """Goes on in the lists of a statement, at the begin of which the code is in a place. Whether it has some that
        run in this call."""
        if isinstance(s, FUNCTIONS):
            self.function(s.body, self.weaver.points.get(("body", s.lineno, s.col_offset)))
            return False
        if isinstance(s, ast.ClassDef):
            self.later(s.body, Here(here.site, here.name, here.place), at)
        elif isinstance(s, ast.If):
            self.arm(s.body, here, s, place)
            if len(s.orelse) == 1 and isinstance(s.orelse[0], ast.If):  # elif, which has its own arms
                self.later(s.orelse, here.within(), place)
            elif s.orelse:
                self.arm(s.orelse, here, s.orelse[0], place, True)
        elif isinstance(s, LOOPS):
            forever = isinstance(s, ast.While) and isinstance(s.test, ast.Constant)
            back = None if forever and self.lines else place
            at = None if isinstance(s, ast.AsyncFor) else place  # the frame awaits before the body
            self.later(s.body, here.within(None if self.lines else place, place, back), at)
            if s.orelse:
                self.arm(s.orelse, here, s.orelse[0], None, True)
        elif isinstance(s, WITHS):
            at = None if isinstance(s, ast.AsyncWith) else place
            self.later(s.body, here.within(back=place if self.lines else None), at)
        elif isinstance(s, TRIES):
            self.later(s.body, here.within(), at)
            for h in s.handlers:
                self.arm(h.body, here, h, None)
            self.later(s.orelse, here.within(), None)
            self.later(s.finalbody, here.within(), None)
        elif isinstance(s, MATCH):
            for case in s.cases:
                self.arm(case.body, here, case.pattern, place)
        else:
            return False
        return True

    def arm(self, body, here, head, at, otherwise=False):
        """Goes on in an arm of a branch."""
        if self.lines or not here.site:
            self.later(body, here.within(), at)
        else:
            self.later(body, here.within(self.block(here, head, body[-1], otherwise)), None)

    def note_pauses(self, s, place):
        """Notes for what suspends the frame in a statement to which place it comes back."""
        todo = [s]
        while todo:
            node = todo.pop()
            if isinstance(node, PAUSES):
                self.weaver.placed[node] = place
            for name in node._fields:
                value = getattr(node, name, None)
                for v in value if isinstance(value, list) else (value,):
                    if isinstance(v, ast.AST) and not isinstance(v, (ast.stmt, ast.Lambda, ast.ExceptHandler)):
                        todo.append(v)


class Found:
    """Stands for a weaver where the places of a text are only to be found."""

    def __init__(self, text, points):
        self.tree = compile(text, "<text>", "exec", 0x400, True)  # PyCF_ONLY_AST
        self.points, self.pausing, self.placed, self.place_sites, self.events = points, (), {}, [], []

    def event(self, kind, site, near):
        """An event before a statement, which begins with its decorators."""
        line = min(d.lineno for d in [near] + getattr(near, "decorator_list", []))
        self.events.append("E\t%d\t%d\t%d" % (site, line, near.col_offset))
        return near


class FoundPlaces(Places):
    def event_behind(self, place, last):
        self.weaver.events.append("E\t%d\t%d\t%d\t%d\t%d" % (
            place, last.end_lineno, last.end_col_offset, last.lineno, last.col_offset))
        return last


def find(text, plan, lines):
    """The lines of the sites of the places in a text, of which plan has the lines, and of the events between its
    statements: the number of the site, where the statement begins before which the event stands, or where that ends
    behind which it stands, and then where this begins."""
    sites, points = [], {}
    for line in plan.split("\n"):
        f = line.split("\t")
        if f[0] == "S":
            sites.append(line)
        elif f[0] == "P":
            points[f[1], int(f[2]), int(f[3])] = int(f[4])
    found = Found(text, points)
    FoundPlaces(found, sites, set(points.values()), lines).put()
    return "\n".join(found.place_sites + found.events)
