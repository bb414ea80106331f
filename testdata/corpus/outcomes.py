"""Compares the tests of two runs, by their JUnit files or what unittest -v said.

outcomes.py differ PLAIN WOVEN        prints the tests whose outcomes differ
outcomes.py table ALLOW PLAIN WOVEN [PLAIN-AGAIN WOVEN-AGAIN]
    prints passed and failed tests by module, and each difference. Those that
    were run again, alone, count by what they did then. Exit status 1 if one
    counts and ALLOW does not name it.
"""
import re
import sys
import xml.etree.ElementTree as tree


def read(path):
    """{test: (outcome, what was said)}. Tests of one name are numbered."""
    try:
        cases = list(junit(path) if path.endswith(".xml") else said(path))
    except (OSError, tree.ParseError):
        return {}
    out = {}
    for name, *outcome in cases:
        n, unique = 1, name
        while unique in out:
            n += 1
            unique = "%s #%d" % (name, n)
        out[unique] = tuple(outcome)
    return out


def junit(path):
    for case in tree.parse(path).iter("testcase"):
        name = case.get("name") or "(without a name)"  # a subtest may have none
        if case.get("classname"):  # pytest
            name = "%s.%s" % (case.get("classname"), name)
        for kind in "error", "failure", "skipped":
            found = case.find(kind)
            if found is not None:
                yield name, "skipped" if kind == "skipped" else "failed", found.text or found.get("message") or ""
                break
        else:
            yield name, "skipped" if case.get("result") == "skipped" else "passed", ""


SAID = {"ok": "passed", "expected failure": "passed", "skipped": "skipped"}


def said(path):
    name = None
    with open(path, errors="replace") as f:
        for line in f:
            begins = re.match(r"(\w+) \(([\w.]+)\)", line)
            if begins:
                name = begins.group(2)
                if name.split(".")[-1] != begins.group(1):  # before 3.11
                    name += "." + begins.group(1)
            # The tests write there as well.
            ends = re.search(r"(?:^|\.\.\. )(ok|FAIL|ERROR|skipped|expected failure|unexpected success)(?: .*)?$", line)
            if ends and name:
                yield name, SAID.get(ends.group(1), "failed"), ""
                name = None


def differing(plain, woven):
    return [n for n in list(plain) + [n for n in woven if n not in plain] if of(plain, n) != of(woven, n)]


def of(run, name):
    return run.get(name, ("missing",))[0]


def module(name):
    """The part of a test's name that stands for its file."""
    parts = name.split("[")[0].split(".")
    if parts[0] == "unittest":  # its tests were within it before 3.12
        return "test_unittest"
    if parts[0] == "test" and len(parts) > 2:
        return ".".join(parts[1:3 if parts[1] in ("test_asyncio", "test_concurrent_futures") else 2])
    for i, part in enumerate(parts):
        if part.startswith("test_"):
            return ".".join(parts[:i + 1])
    return "others"


def table(allow, first, again):
    plain, woven = first
    if not plain or not woven:
        print("no tests were run")
        return True
    rows = {}
    for run, at in (plain, 0), (woven, 3):
        for name in run:
            row = rows.setdefault(module(name), [0] * 6)
            row[at + ("passed", "failed", "skipped").index(of(run, name))] += 1
    width = max([24] + [len(m) + 1 for m in rows])
    print("%-*s %23s %24s" % (width, "Python " + sys.version.split()[0], "plain", "instrumented"))
    print("%-*s%8s%8s%8s %8s%8s%8s" % ((width, "") + ("passed", "failed", "skipped") * 2))
    for name in sorted(rows):
        print("%-*s%8d%8d%8d %8d%8d%8d" % ((width, name) + tuple(rows[name])))
    print("%-*s%8d%8d%8d %8d%8d%8d" % ((width, "all: %d" % len(rows)) + tuple(map(sum, zip(*rows.values())))))
    counts = False
    for name in differing(plain, woven):
        how = "%s plain, %s instrumented" % (of(plain, name), of(woven, name))
        last = woven
        if name in again[0] or name in again[1]:
            last = again[1]
            if of(again[0], name) == of(again[1], name):
                print("unsteady %s: %s; %s both ways, again" % (name, how, of(last, name)))
                continue
        if any(part in name for part in allow):
            print("allowed  %s: %s" % (name, how))
            continue
        counts = True
        print("NEW      %s: %s\n%s" % (name, how, last.get(name, ("", ""))[1]))
    return counts


if sys.argv[1] == "differ":
    print("\n".join(differing(*map(read, sys.argv[2:]))))
else:
    with open(sys.argv[2]) as f:
        lines = [line.split("#")[0].strip() for line in f]
    runs = list(map(read, sys.argv[3:])) + [{}, {}]
    sys.exit(table([line for line in lines if line], runs[:2], runs[2:4]))
