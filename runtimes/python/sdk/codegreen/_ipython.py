"""The magic of IPython and Jupyter (docs/hooks.md of cg): %load_ext codegreen, then %%joules as a cell's first line."""
import ast
import html
import os
import tempfile
from time import monotonic_ns

from . import _measured

NO_PAGE = "--no-page"
HEIGHT = 560  # of the page, in pixels


class Joules:
    """What a cell took; Jupyter shows the page below."""

    def __init__(self, task, page):
        energy, self.energy_kind = _measured.energy(task)
        self.energy_j, self.energy_lo_j, self.energy_hi_j = energy or (_measured.NAN,) * 3
        self.name, self.duration_s, self.page = task.name, task.duration_s, page

    def __repr__(self):
        return "%s: %s, %s, in %.4g s" % (
            self.name, _measured.words(self.energy_j, self.energy_lo_j, self.energy_hi_j), self.energy_kind,
            self.duration_s)

    def _repr_html_(self):
        frame = ""
        if self.page:
            frame = '<iframe sandbox="allow-scripts" style="width:100%%;height:%dpx;border:0" srcdoc="%s"></iframe>' % (
                HEIGHT, html.escape(self.page))
        return "<p>%s</p>%s" % (html.escape(repr(self)), frame)


def load(shell):
    def joules(line, cell):
        return measure(shell, line, cell)
    from IPython.core import magic
    silenced = getattr(magic, "output_can_be_silenced", None)  # a semicolon at the end, from IPython 8.13 on
    if silenced is not None:
        joules = silenced(joules)
    shell.register_magic_function(joules, "cell", "joules")


def measure(shell, line, cell):
    """Runs a cell as a task and shows its joules, with cg's page of what happened meanwhile unless line has --no-page.
    What else stands in line is the name of the task. The cell's value is that of its last expression, as always."""
    words = line.split()
    paged = NO_PAGE not in words
    wrong = [w for w in words if w.startswith("--") and w != NO_PAGE]
    if wrong:
        from IPython.core.error import UsageError
        raise UsageError("%%%%joules: unknown option %s: use %%%%joules [%s] [NAME]" % (wrong[0], NO_PAGE))
    name = " ".join(w for w in words if w != NO_PAGE) or "cell"
    body, last = compiled(shell, cell)
    session, own = _measured.session_for(name, save_to_file=False, record_time_series=paged)
    page = ""
    try:
        task = session._begin(name)
        try:
            value = run(shell, body, last)
        finally:
            session._leave(monotonic_ns(), task)
        if own and paged:
            page = drawn(session)
        told = Joules(task, page)
    finally:
        if own:
            session.stop()
    from IPython.display import display
    display(told)
    return value


def compiled(shell, cell):
    """The cell as code, and its last expression."""
    text = shell.transform_cell(cell)
    name = shell.compile.cache(text, raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(text, filename=name))
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = shell.compile(ast.Expression(tree.body.pop().value), name, "eval")
    return shell.compile(tree, name, "exec"), last


def run(shell, body, last):
    exec(body, shell.user_ns)
    return eval(last, shell.user_ns) if last is not None else None


def drawn(session):
    """cg's page of the session so far, "" where there is no cg: the session has told that."""
    with tempfile.TemporaryDirectory(prefix="codegreen-") as folder:
        path = os.path.join(folder, "cell.html")
        if not session.export_plot(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()
