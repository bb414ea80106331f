"""Decodes a source as the interpreter does. It takes bytes and returns text with \\n
for every newline. Bytes that are no text in the encoding that the source declares
are a UnicodeError, an encoding that nobody knows is a LookupError.
"""
import codecs


def decode(source):
    """Source bytes to text, as the interpreter decodes them; newlines as \\n."""
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
