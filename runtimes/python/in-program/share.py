"""Writes marshalled code with equal parts of code objects once: code.replace makes
names anew that the compiler has in common, and in 3.11 to 3.13 the woven code of
a module would otherwise be read half as fast again as its own. It takes
the bytes of marshal and returns others of the same code. A form that is not known
is a ValueError or an IndexError.
"""

# Types of parts (Python/marshal.c) without others in them, by how many bytes stand
# behind the letter: always so many, or as the next byte or the next four say.
SINGLE = b"NFT.S"
FIXED = {kind: size for kinds, size in ((SINGLE, 0), (b"i", 4), (b"g", 8), (b"y", 16)) for kind in kinds}
SHORT, LONG = frozenset(b"zZ"), frozenset(b"sutaA")
REFERENCE, INTEGER, CODE, SMALL_TUPLE = b"rlc)"
SEQUENCES, SETS = frozenset(b")(<>"), frozenset(b"<>")
LETTERS = [bytes([kind]) for kind in range(128)]


def share(data):
    nodes, root = parsed(data)
    return written(nodes, root)


def parsed(data):
    """(nodes, index of the root): the parts of marshalled data, equal ones once. A
    node is the bytes of a part, or of one that holds others a tuple: the letter,
    bytes that follow, a tuple of the others' indices; of code the same twice."""
    refs = []     # nodes that the data refers to by number
    numbers = {}  # node -> index
    nodes = []
    at = 0

    def parse(alone):
        """The index of the node that begins here. alone: it is not shared."""
        nonlocal at
        start, kind = at, data[at] & 127
        if kind == REFERENCE:
            at = start + 5
            return refs[int.from_bytes(data[start + 1:at], "little")]
        flag, place = data[start] & 128, len(refs)
        if flag:
            refs.append(None)
        if kind in SHORT:
            size = 1 + data[start + 1]
        else:
            size = FIXED.get(kind)
            if size is None:
                size = length(data, start + 1, kind)
        if size is not None:
            at = start + 1 + size
            what = LETTERS[kind] + data[start + 1:at] if flag else data[start:at]
        elif kind == CODE:
            at = start + 21
            below = tuple([parse(i == 1) for i in range(8)])
            line, at = data[at:at + 4], at + 4
            what = b"c", data[start + 1:start + 21], below, line, (parse(False), parse(False)), start
        else:
            at = start + (2 if kind == SMALL_TUPLE else 5)
            count = data[start + 1:at]
            what = LETTERS[kind], count, tuple([parse(False) for _ in range(int.from_bytes(count, "little"))])
            # By content; a tuple of constants, and what holds code, by itself.
            if alone or kind in SETS:
                what += start,
        i = numbers.setdefault(what, len(nodes))
        if i == len(nodes):
            nodes.append(what)
        if flag:
            refs[place] = i
        return i

    root = parse(False)
    if at != len(data):
        raise ValueError("not known to share")
    return nodes, root


def length(data, at, kind):
    """How many bytes of a part without others stand behind its letter, None for
    code and sequences."""
    if kind == CODE or kind in SEQUENCES:
        return None
    n = int.from_bytes(data[at:at + 4], "little")
    if kind in LONG:
        return 4 + n
    if kind == INTEGER:
        return 4 + 2 * (n if n < 1 << 31 else (1 << 32) - n)
    raise ValueError("not known to share")


def written(nodes, root):
    """The bytes of a node: each that stands in several places once, and referred
    to from the others."""
    times, seen, out = [0] * len(nodes), {}, []
    todo = [root]
    while todo:
        i = todo.pop()
        times[i] += 1
        if times[i] == 1 and type(nodes[i]) is tuple:
            todo += nodes[i][2]
            if nodes[i][0] == b"c":
                todo += nodes[i][4]

    def write(i):
        if i in seen:
            out.append(b"r" + seen[i].to_bytes(4, "little"))
            return
        what = nodes[i]
        leaf = type(what) is bytes
        letter = what[:1] if leaf else what[0]
        if times[i] > 1 and letter not in SINGLE:
            seen[i] = len(seen)
            letter = bytes([letter[0] | 128])
        if leaf:
            out.append(letter + what[1:])
            return
        out.append(letter + what[1])
        for k in what[2]:
            write(k)
        if what[0] == b"c":
            out.append(what[3])
            for k in what[4]:
                write(k)

    write(root)
    return b"".join(out)
