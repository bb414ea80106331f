"""Makes what the compiler made of the marks invisible to debuggers, from 3.10 on.
It takes compiled code with marks and returns the same code with other tables. The
enter takes its line from what stands before it. The handler that the try adds
would leave the frame without a line. Code of other interpreters is left as it is.
"""
import sys

from .events import ENTER, EXIT, MARK, PLACE
from .marks import FAR, NOWHERE

# The newest interpreter whose tables polish knows; a later one keeps what its
# compiler made, and debuggers there see the checkpoints.
KNOWN = sys.version_info < (3, 16)

TEXT = type("")


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
    unit records, as far as its code shows that; else None."""
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
    marks = {i: int(c[len(MARK):].partition(":")[0]) for i, c in enumerate(consts)
             if type(c) is TEXT and c.startswith(MARK)}
    if not marks:
        return code.replace(co_consts=consts)
    if sys.version_info < (3, 11):
        return code.replace(co_consts=consts, co_code=raised_again(code.co_code, marks),
                            co_firstlineno=max(code.co_firstlineno, 1))  # an empty module has no line
    ops = code.co_code
    lines, table, room = code.co_linetable, code.co_exceptiontable, code.co_stacksize
    for u in range(1, len(ops) // 2):
        found = recorded(ops, u)
        if found:
            start, const, pop = found
            if marks.get(const) == ENTER and code.co_name != "<lambda>":
                end = end_of_events(ops, pop + 1, marks)
                lines = nowhere(lines, start, end, end > pop + 1)
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


def end_of_events(ops, u, marks):
    """The unit behind the events of places that follow each other from a unit on."""
    for k in range(u + 1, min(u + 5, len(ops) // 2)):  # behind a constant with its prefixes
        found = recorded(ops, k)
        if found and found[0] == u and marks.get(found[1]) == PLACE:
            return end_of_events(ops, found[2] + 1, marks)
    return u


def raised_again(ops, marks):
    """Code of 3.10, where blocks stand in the code and not in a table: an exception that the
    handler of a try has recorded goes on from the instruction that raised it, as after a with statement."""
    patched = bytearray(ops)
    for u in range(1, len(ops) // 2 - 2):
        found = recorded(ops, u)  # then it is dropped, and the exception raised again
        if found and marks.get(found[1]) == EXIT and ops[2 * u + 4] == RERAISE and ops[2 * u + 5] == 0:
            patched[2 * u + 5] = 1
    return bytes(patched)


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


def raising():
    """The instruction that ends a finally after an exception, on 3.10: the last of its code."""
    return compile("try: x\nfinally: y", "", "exec").co_code[-2]


RERAISE = raising() if NOWHERE and sys.version_info < (3, 11) else None


# The tables: github.com/python/cpython/blob/3.11/Objects/locations.md and
# exception_handling_notes.txt beside it. Lengths are in units of two bytes.

def nowhere(table, start, end, places):
    """The table with no line for the units from start up to end, or the table as it is where that would take the line
    of the program's own code, too. places: the events are those of places, whose code has other columns."""
    out, at, i = bytearray(), 0, 0
    while i < len(table) and at < end:
        k = i + 1
        while k < len(table) and not table[k] & 128:
            k += 1
        n = (table[i] & 7) + 1
        if at + n > start:
            before = max(start - at, 0)
            jumps = before == 0 and moves(table[i:k])
            if not places and (jumps or at + n > end):
                return table
            if jumps:
                break
            if at + n > end and table[i] >> 3 & 15 == 13:
                return table
            if before:
                out.append(table[i] & ~7 | before - 1)
                out += table[i + 1:k]
            out.append(128 | 15 << 3 | n - before - 1)
        else:
            out += table[i:k]
        at += n
        i = k
    return bytes(out) + table[i:]


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
