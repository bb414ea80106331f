"""Puts checkpoints into a module's syntax tree, where cg's plan says.

The tree is the interpreter's own, so positions, scopes and constants stay
what they were; the checkpoints are string constants that hook.enliven
replaces in the finished code:

    -"mark"          an event
    "mark"[FAR]      the same, where Python code records it
    "mark"[value]    an event once value is known, gives value
    "mark" << value  the same

Nothing raises in them, and what they are placed next to keeps its position.
"""
import sys

ENTER, EXIT, SUSPEND, RESUME, UNWIND = range(5)
ONLY_AST = 0x400  # PyCF_ONLY_AST

# The newest interpreter whose tables polish knows; a later one keeps what its
# compiler made, and debuggers there see the checkpoints.
KNOWN = sys.version_info < (3, 16)

# An instruction without a line makes no line event for debuggers, from 3.11.
NOWHERE = sys.version_info >= (3, 11) and sys.implementation.name == "cpython"

# What no string has at its end: the compiler leaves the subscript to be done.
# A call of __getitem__ takes no frame of the interpreter's own, from 3.11.
FAR = 1 << 20 if PURE and NOWHERE and sys.version_info < (3, 14) else None

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES = tuple(getattr(ast, n) for n in ("Try", "TryStar") if hasattr(ast, n))
BLOCKS = TRIES + (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)
LISTS = (ast.ListComp, ast.SetComp, ast.DictComp)
TEXT = type("")

# A comprehension has a frame of its own, before PEP 709.
FRAMED = sys.version_info < (3, 12)
LITERALS = tuple(getattr(ast, n) for n in (
    "Constant", "Tuple", "List", "ListComp", "Dict", "DictComp", "Set", "SetComp", "GeneratorExp", "Lambda", "JoinedStr",
    "FormattedValue", "TemplateStr", "Interpolation", "Starred") if hasattr(ast, n))


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


def weave(text, source, path, plan, parse=None, mute=False):
    """(sites, code, quiet): quiet says that compiling gave no warning. parse
    makes the tree of a text that is not compiled as it stands; mute keeps
    warnings, which somebody has given already, to itself."""
    sites, left, points, small = [], [], {}, set()
    for line in plan.split("\n"):
        f = line.split("\t")
        if f[0] == "L":
            left.append(line)
        elif f[0] == "S":
            sites.append(line)
            if f[5] == "1":
                small.add(len(sites))
        elif f[0] == "P":
            points[f[1], int(f[2]), int(f[3])] = int(f[4])
    with Ear() as ear:
        code = attempt(text, source, path, points, small, parse)
    quiet = mute or not ear.heard
    if not quiet:
        compile(source, path, "exec", 0, True)  # once more, to be heard
    return "\n".join(sites + left), polish(code), quiet


def attempt(text, source, path, points, small, parse):
    for _ in range(100):
        tree = parse(text) if parse else compile(source, path, "exec", ONLY_AST, True)
        Weaver(tree, points, small).apply()
        try:
            return compile(tree, path, "exec", 0, True)
        except (SyntaxError, RecursionError) as e:
            if not parse:
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
    def __init__(self, tree, points, small):
        self.tree, self.points, self.small = tree, points, small
        self.pausing = {site for (role, _, _), site in points.items() if role == "pause"}
        self.asynchronous = {points.get(("body", n.lineno, n.col_offset)) for n, _, _ in walk(tree) if isinstance(n, ast.AsyncFunctionDef)}

    def mark(self, kind, site, how="p", up=0):
        # A site whose frames can be suspended has checkpoints that look, in
        # ways that hook.PAUSES tells; a small one has some that count when
        # they are told to.
        if site not in self.pausing:
            how = "s" if site in self.small else ""
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

    def passing(self, kind, site, value, near, how="p", up=0):
        mark = at(self.mark(kind, site, how, up), near)
        # An operator cannot give NotImplemented. The compiler warns of some
        # indices of a string, all of which are something else.
        if isinstance(value, LITERALS):
            return at(ast.BinOp(left=mark, op=ast.LShift(), right=value), near)
        index = value if sys.version_info >= (3, 9) else ast.Index(value=value)
        return at(ast.Subscript(value=mark, slice=index, ctx=ast.Load()), near)

    def apply(self):
        nodes = walk(self.tree)
        up = framed(nodes) if self.pausing and FRAMED else {}
        # Inner nodes first: what an outer one wraps is then complete.
        for node, parent, field in reversed(nodes):
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
                    first.iter = self.passing(SUSPEND, site, first.iter, first.iter, "p", n)
                    self.replace(parent, field, node, self.passing(RESUME, site, node, node, "p", n))
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
            if n == 0 and body and sys.version_info >= (3, 14):
                # The code of the module's annotations (PEP 649) begins on the
                # line of its first statement, and needs one.
                put(self.tree.body[0], body[0])

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

    def wrap_pause(self, node, parent, field, site, up):
        if node.value is None:
            node.value = at(ast.Constant(value=None), node)
            node.value.kind = None
        how = "w" if not isinstance(node, ast.Yield) else "y" if site in self.asynchronous else "p"
        node.value = self.passing(SUSPEND, site, node.value, node.value, how, up)
        self.replace(parent, field, node, self.passing(RESUME, site, node, node, "p", up))

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
            node.iter = self.passing(SUSPEND, site, node.iter, node.iter, "v")
        else:
            # Before the second manager is made, the frame is back from the
            # first one's await: each has a statement of its own.
            if len(node.items) > 1:
                inner = at(ast.AsyncWith(items=node.items[1:], body=node.body, type_comment=None), node)
                node.items, node.body = node.items[:1], [inner]
                self.wrap_async(inner, node, "body", site)
            item = node.items[0]
            item.context_expr = self.passing(SUSPEND, site, item.context_expr, item.context_expr, "v")
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


# What the compiler makes of the marks is made invisible to debuggers, from
# 3.11 on: the enter takes its line from what stands before it, and the handler
# that the try adds would leave the frame without one.

def negative():
    """The instruction that is the minus sign."""
    other = compile("~x", "", "eval").co_code
    for i, b in enumerate(compile("-x", "", "eval").co_code):
        if b != other[i]:
            return b


NEGATIVE = negative() if NOWHERE and KNOWN else None


def subscript():
    """The instruction of a subscript, and how many units are its cache."""
    ops = compile("x[y]", "", "eval").co_code  # behind resume and two loads; then a return
    return ops[6], len(ops) // 2 - 5


SUBSCRIPT, CACHE = subscript() if FAR else (None, 0)


def recorded(ops, u):
    """(first unit, constant, next unit) of the event that the instruction at a
    unit records, as far as that can be told from its code; else None."""
    if ops[2 * u] == NEGATIVE:
        return operand(ops, u - 1) + (u + 1,)
    if FAR and ops[2 * u] == SUBSCRIPT:
        return operand(ops, operand(ops, u - 1)[0] - 1) + (u + 1 + CACHE,)


def polish(code):
    """Code with no line for its enter, and that an exception leaves from the
    line that raised it."""
    if not NOWHERE or not KNOWN:
        return code
    consts = tuple(polish(c) if type(c) is type(code) else c for c in code.co_consts)
    marks = {i: int(c[len(MARK):].partition(":")[0]) for i, c in enumerate(consts) if type(c) is TEXT and c.startswith(MARK)}
    if not marks:
        return code.replace(co_consts=consts)
    ops = code.co_code
    lines, table, room = code.co_linetable, code.co_exceptiontable, code.co_stacksize
    for u in range(1, len(ops) // 2):
        found = recorded(ops, u)
        if found:
            start, const, pop = found
            if marks.get(const) == ENTER and code.co_name != "<lambda>":
                lines = nowhere(lines, start, pop + 1)
            break
    entries = read_exceptions(table)
    patched = bytearray(ops)
    inside = {e[0]: e for e in entries if e[4]}  # by the start of a handler
    for target in {e[2] for e in entries if not e[4]}:
        own = inside.get(target)
        if own is None or own[2] != own[0] + own[1] or own[1] < 5 + CACHE:
            continue
        last = own[0] + own[1] - 1  # push, the event, pop, reraise
        start, const, pop = recorded(ops, last - 2 - CACHE) or (0, None, 0)
        if marks.get(const) != EXIT or start != target + 1 or pop != last - 1 or ops[2 * last + 1] != 0:
            continue
        # The interpreter notes where the exception came from, and the reraise
        # goes back there, as that of a with statement does.
        patched[2 * last + 1] = 2
        own[3] += 1
        for e in entries:
            if e[2] == target:
                e[4] = 1
        room = code.co_stacksize + 1
    return code.replace(co_consts=consts, co_code=bytes(patched), co_linetable=lines,
                        co_exceptiontable=write_exceptions(entries), co_stacksize=room)


def operand(ops, u):
    """(first unit, operand) of the instruction at a unit, its prefixes included."""
    value, shift, op = ops[2 * u + 1], 8, ops[2 * u]
    while u > 0 and ops[2 * u - 2] == EXTENDED:
        u -= 1
        value |= ops[2 * u + 1] << shift
        shift += 8
    return u, value


def prefix():
    """The instruction that extends the operand of the next one."""
    ops = compile(",".join("x%d" % i for i in range(257)), "", "eval").co_code
    last = ops.index(255, 1) - 1  # loads name 255; the next loads 256
    for i in range(last + 2, len(ops) - 2, 2):
        if ops[i + 2] == ops[last] and ops[i + 3] == 0:
            return ops[i]


EXTENDED = prefix() if NOWHERE and KNOWN else None


# The tables: github.com/python/cpython/blob/3.11/Objects/locations.md and
# exception_handling_notes.txt beside it. Lengths are in units of two bytes.

def nowhere(table, start, end):
    """The table with no line for the units from start up to end."""
    out, at, i = bytearray(), 0, 0
    while i < len(table):
        k = i + 1
        while k < len(table) and not table[k] & 128:
            k += 1
        n = (table[i] & 7) + 1
        if at < end and at + n > start:
            before = max(start - at, 0)
            if at + n > end or before == 0 and moves(table[i:k]):
                return table
            if before:
                out.append(table[i] & ~7 | before - 1)
                out += table[i + 1:k]
            out.append(128 | 15 << 3 | n - before - 1)
        else:
            out += table[i:k]
        at += n
        i = k
    return bytes(out)


def moves(entry):
    """Whether a location entry goes to another line."""
    kind = entry[0] >> 3 & 15
    return kind in (11, 12) or kind in (13, 14) and entry[1] & 63 > 1


def read_exceptions(table):
    """[start, length, target, depth, keeps the place] of each entry."""
    numbers, value = [], 0
    for b in table:
        value = value << 6 | b & 63
        if not b & 64:
            numbers.append(value)
            value = 0
    return [numbers[i:i + 3] + [numbers[i + 3] >> 1, numbers[i + 3] & 1] for i in range(0, len(numbers), 4)]


def write_exceptions(entries):
    out = bytearray()
    for start, length, target, depth, keeps in entries:
        first = 128
        for value in start, length, target, depth << 1 | keeps:
            parts = [value & 63]
            while value > 63:
                value >>= 6
                parts.append(value & 63 | 64)
            parts.reverse()
            parts[0] |= first
            first = 0
            out += bytes(parts)
    return bytes(out)


# code.replace makes anew what the compiler has in common: in 3.11 to 3.13 the
# woven code of a module is otherwise read half as fast again as its own.

def share(data):
    """The same code as marshal writes it, with equal parts of code objects
    written once: code.replace makes names anew that the compiler has in common."""
    at, refs, number, nodes = 0, [], {}, []

    def long():
        nonlocal at
        at += 4
        return int.from_bytes(data[at - 4:at], "little")

    def node(*what):
        # by content; a tuple of constants, and what holds code, by itself
        i = number.setdefault(what, len(nodes))
        if i == len(nodes):
            nodes.append(what)
        return i

    def parse(alone):
        nonlocal at
        start, kind = at, data[at] & 127
        flag, at = data[at] & 128, at + 1
        letter = bytes([kind])
        if letter == b"r":
            return refs[long()]
        place = len(refs)
        if flag:
            refs.append(None)
        if letter in b"NFT.S":
            what = letter,
        elif letter == b"i":
            what = letter, data[at:at + 4]
            at += 4
        elif letter in b"gy":
            size = 8 if letter == b"g" else 16
            what = letter, data[at:at + size]
            at += size
        elif letter in b"zZ":
            end = at + 1 + data[at]
            what, at = (letter, data[at:end]), end
        elif letter in b"sutaA":
            end = at + 4 + int.from_bytes(data[at:at + 4], "little")
            what, at = (letter, data[at:end]), end
        elif letter == b"l":
            n = long()
            end = at + 2 * (n if n < 1 << 31 else (1 << 32) - n)
            what, at = (letter, data[at - 4:end]), end
        elif letter in b")(<>":
            size = data[at:at + 1] if letter == b")" else data[at:at + 4]
            at += len(size)
            what = (letter, size, tuple([parse(False) for _ in range(int.from_bytes(size, "little"))]))
            if alone or letter in b"<>":
                what += start,
        elif letter == b"c":
            head, at = data[at:at + 20], at + 20
            below = [parse(i == 1) for i in range(8)]
            line, at = data[at:at + 4], at + 4
            what = letter, head, tuple(below), line, (parse(False), parse(False)), start
        else:
            raise ValueError("not known to share")
        i = node(*what)
        if flag:
            refs[place] = i
        return i

    root = parse(False)
    if at != len(data):
        raise ValueError("not known to share")
    times, seen, out = {}, {}, []

    def below(what):
        return [i for part in what[1:] if type(part) is tuple for i in part]

    todo = [root]
    while todo:
        i = todo.pop()
        times[i] = times.get(i, 0) + 1
        if times[i] == 1:
            todo += below(nodes[i])

    def write(i):
        what = nodes[i]
        if i in seen:
            out.append(b"r" + seen[i].to_bytes(4, "little"))
            return
        kind = what[0]
        if times[i] > 1 and kind not in b"NFT.S":
            seen[i] = len(seen)
            kind = bytes([kind[0] | 128])
        out.append(kind)
        for part in what[1:]:
            if type(part) is tuple:
                for k in part:
                    write(k)
            elif type(part) is bytes:
                out.append(part)

    write(root)
    return b"".join(out)
