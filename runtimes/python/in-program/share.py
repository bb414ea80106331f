"""Writes marshalled code with equal parts of code objects once: code.replace makes
names anew that the compiler has in common, and in 3.11 to 3.13 the woven code of
a module would otherwise be read half as fast again as its own. In go the bytes
of marshal, out come others of the same code; a form that is not known is a
ValueError or an IndexError.
"""


def share(data):
    tree = Tree(data)
    root = tree.parse(False)
    if tree.at != len(data):
        raise ValueError("not known to share")
    return written(tree.nodes, root)


class Tree:
    """The parts of marshalled data (Python/marshal.c), equal ones once. A node is
    a tuple: its type, then bytes as they stand and tuples of other nodes'
    indices."""

    def __init__(self, data):
        self.data, self.at = data, 0
        self.refs = []      # nodes that the data refers to by number
        self.numbers = {}   # node -> index
        self.nodes = []

    def node(self, *what):
        # by content; a tuple of constants, and what holds code, by itself
        i = self.numbers.setdefault(what, len(self.nodes))
        if i == len(self.nodes):
            self.nodes.append(what)
        return i

    def long(self):
        self.at += 4
        return int.from_bytes(self.data[self.at - 4:self.at], "little")

    def parse(self, alone):
        """The index of the node that begins here. alone: it is not shared."""
        start = self.at
        letter, flag = bytes([self.data[start] & 127]), self.data[start] & 128
        self.at = start + 1
        if letter == b"r":
            return self.refs[self.long()]
        place = len(self.refs)
        if flag:
            self.refs.append(None)
        if letter in b")(<>":
            what = self.sequence(letter)
            if alone or letter in b"<>":
                what += start,
        elif letter == b"c":
            head = self.bytes(20)
            below = [self.parse(i == 1) for i in range(8)]
            what = letter, head, tuple(below), self.bytes(4), (self.parse(False), self.parse(False)), start
        else:
            what = letter, self.bytes(self.size(letter))
        i = self.node(*what)
        if flag:
            self.refs[place] = i
        return i

    def sequence(self, letter):
        size = self.bytes(1 if letter == b")" else 4)
        return letter, size, tuple([self.parse(False) for _ in range(int.from_bytes(size, "little"))])

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def size(self, letter):
        """How many bytes of a part without others stand behind its letter."""
        data, at = self.data, self.at
        if letter in b"NFT.S":
            return 0
        if letter == b"i":
            return 4
        if letter in b"gy":
            return 8 if letter == b"g" else 16
        if letter in b"zZ":
            return 1 + data[at]
        n = int.from_bytes(data[at:at + 4], "little")
        if letter in b"sutaA":
            return 4 + n
        if letter == b"l":
            return 4 + 2 * (n if n < 1 << 31 else (1 << 32) - n)
        raise ValueError("not known to share")


def written(nodes, root):
    """The bytes of a node: each that stands in several places once, and referred
    to from the others."""
    times, seen, out = {}, {}, []
    todo = [root]
    while todo:
        i = todo.pop()
        times[i] = times.get(i, 0) + 1
        if times[i] == 1:
            todo += [k for part in nodes[i][1:] if type(part) is tuple for k in part]

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
