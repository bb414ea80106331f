"""The cache of woven code. It takes the name that name_of gives and returns an
Entry, or None for one that is not this user's own, that others could write, or
that is not as cg wrote it. Such an entry is reported to cg.

An entry is a file with a name that its path gives, or path and content where
the text is not that of a file:

  magic   8 bytes
  digest  u64: of all that follows, as recorder.seal gives it
  stamp   u64: of the file when it was woven, see stamp; 0: not to be trusted
  hash    8 bytes, length u64: of the source
  sizes   u32 of path, places and sites; number of the sites, u32
  places, path, sites, and the code as marshal writes it

places say where the checkpoints of a code object are: their number, index into
its constants and bits of each (frames up << 28 | type << 24 | kind << 21 | site
in the file); and the number of code objects in it that have some, index and
places of each. The native module reads this, too (python_woven.h).
"""
import sys
import time

from .files import FOREIGN, LINK, read_private, write_private
from .recorder import recorder
from .server import tell

MAGIC = b"cgwoven\3"


class Entry:
    def __init__(self, stamp, source, places, sites, code):
        self.stamp = stamp    # of the file
        self.source = source  # (hash, length) of its content
        self.places, self.sites, self.code = places, sites, code  # bytes


def name_of(*parts):
    """The name of the entry for what some words tell apart."""
    return "%s%016x" % (recorder.entries, digest(*[p.encode("utf-8", "surrogatepass") for p in parts]))


def digest(*parts):
    """What the native module's cg_digest gives (checkpoint/FORMAT.md)."""
    h = 0
    for p in parts:
        for w in [len(p)] + [int.from_bytes(p[i:i + 8].ljust(8, b"\0"), sys.byteorder) for i in range(0, len(p), 8)]:
            h = (h ^ w) * 0x9e3779b97f4a7c15 & 0xffffffffffffffff
            h ^= h >> 32
    return h


def number(n, size):
    return (n & (1 << 8 * size) - 1).to_bytes(size, sys.byteorder)


def stamp(status):
    """What changes with a file: as a .pyc has it, and what no program sets."""
    return digest(number(status.st_mtime_ns, 8) + number(status.st_ctime_ns, 8)
                  + number(status.st_size, 8) + number(status.st_ino, 8))


def settled(seen):
    """Whether a file, seen with a stamp and a time of change, would have another
    stamp if it were written again now."""
    return seen[0] and seen[1] + 2000000000 < time.time_ns()


def find(where, path):
    """The Entry of a path, or None."""
    try:
        b = read_private(where)
    except OSError as e:
        if e.errno in (FOREIGN, LINK):
            tell("refused", where, e.strerror)
        return None
    if b[:8] != MAGIC or len(b) < 56:
        return None
    if number(recorder.seal(b[16:]), 8) != b[8:16]:
        tell("refused", where, "is not what cg has written: its content has another digest")
        return None
    stamp, length = [int.from_bytes(b[i:i + 8], sys.byteorder) for i in (16, 32)]
    name, places, sites = [int.from_bytes(b[i:i + 4], sys.byteorder) for i in (40, 44, 48)]
    at = 56 + places
    if b[at:at + name] != path.encode("utf-8", "surrogatepass"):
        return None
    end = at + name + sites
    return Entry(stamp, (b[24:32], length), b[56:at], b[at + name:end], b[end:])


def keep(where, path, seen, entry):
    """Writes an entry, with the stamp of the file as it was seen if that tells."""
    name = path.encode("utf-8", "surrogatepass")
    hash, length = entry.source
    count = sum([line.startswith(b"S") for line in entry.sites.split(b"\n")])
    b = b"".join([number(seen[0] if settled(seen) else 0, 8), hash, number(length, 8), number(len(name), 4),
                  number(len(entry.places), 4), number(len(entry.sites), 4), number(count, 4),
                  entry.places, name, entry.sites, entry.code])
    write_private(where, [MAGIC, number(recorder.seal(b), 8), b])
