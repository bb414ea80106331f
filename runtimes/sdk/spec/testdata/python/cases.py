"""Holds the package codegreen to the tables of cases that cg keeps: cases.py FOLDER.
Prints a line for each table, and a line for each case that is not met."""
import json
import os
import struct
import sys
import tempfile

from codegreen import _budget, _division, _energy, _gpus, _neighbours, _noise, _powercap, _report, _requests, _result, _ring, _session, _source, _zones

faults = 0


def check(met, *what):
    global faults
    if not met:
        faults += 1
        print(*what)


def near(a, b):
    if a is None or b is None or isinstance(a, str):
        return a == b
    return abs(a - b) <= 1e-9 * max(1e-3, abs(a), abs(b))


def between(path):
    """Lines of series, of samples, and of what is asked of the series (nemb/shared_test.go of cg)."""
    asked = 0
    samples, waiting = None, []

    def take():  # many at a time, as a ring gives them
        if waiting:
            samples.extend([w[0] for w in waiting], [w[1] for w in waiting], [[w[2] for w in waiting]])
            waiting.clear()
    with open(path) as f:
        for line in f:
            kind, *words = line.split()
            if kind == "series":
                samples = _energy.Samples([_energy.Domain("d", period_ns=int(words[0]))])
            elif kind == "s":
                waiting.append([int(w) for w in words])
                if len(waiting) == 77:
                    take()
            else:
                take()
                asked += 1
                got = samples.between(0, int(words[0]), int(words[1]))
                if words[2] == "none":
                    check(got is None or got[2] == "sampled", line, got)
                else:
                    want = float(words[2]), float(words[3]), words[4]
                    check(got and got[2] == want[2] and near(got[0], want[0]) and near(got[1], want[1]), line, got)
    return asked


def lags(case):
    samples = _energy.Samples([_energy.Domain("d", "gpu", period_ns=case["period_ns"], habits=case["habits"])])
    samples.extend([s[0] for s in case["samples"]], [0] * len(case["samples"]), [[s[1] for s in case["samples"]]])
    for start, end, want, hidden in case["spans"]:
        got = samples.lag(0, start, end)
        check(near(got, want), case["name"], start, end, got, "want", want)
        got = samples.hidden(0, [(start, end, 1.0, False)])
        check(near(got, hidden), case["name"], start, end, "hides", got, "want", hidden)
    for spans, want in case.get("parts", ()):
        got = samples.hidden(0, [(start, end, 1.0, False) for start, end in spans])
        check(near(got, want), case["name"], "parts", spans, "hides", got, "want", want)
        gaps = [(end, end + 1, 0.0, False) for _, end in spans]  # the task is suspended
        got = samples.hidden(0, sorted([(start, end, 0.5, False) for start, end in spans] + gaps))
        check(near(got, want), case["name"], "parts with gaps", spans, "hides", got, "want", want)


def suspended():
    """A piece of time in which a task is suspended and goes on counts once, by the largest weight."""
    gpu = _gpus.Gpu()
    for start, squares in (0, 16.0), (100, 9.0):
        gpu.add(start, start + 100, [0.0] * _gpus.SQUARES + [squares], 0)
    once, total = _gpus._Once(gpu), 0.0
    for start, end, weight in (0, 10, 0.5), (10, 20, 0.0), (20, 30, 0.25), (30, 40, 1.0), (40, 150, 0.5):
        sums, _ = gpu.between(start, end, float)
        total += once.of(sums, start, end, weight)[_gpus.SQUARES] * weight
    check(near(total, 16 + 9 / 2), "parts of a suspended task have", total)


def noise(case):
    samples = [[s[i] for s in case["samples"]] for i in range(3)]
    limits = _noise.Limits(case["env"])
    fast = (case["fast_uj"], case["fast_period_ns"]) if case["fast_uj"] else None
    got = _noise.noise_of(_noise.Stretch(samples, case["lasted_ns"], case["interval_ns"], case["period_ns"], fast), limits)
    got["reasons"] = _noise.reasons_of(got, limits)
    for key, want in case["want"].items():
        check(got[key] == want if key == "reasons" else near(got[key], want), "noise:", case["name"], key, got[key], "want", want)


def ring(case):
    memory = bytearray(max(case["size"], 48))
    for at, text in case["texts"].items():
        memory[int(at):int(at) + len(text)] = text.encode()
    for at, value in case["halves"].items():
        struct.pack_into("I", memory, int(at), value)
    for at, value in case["words"].items():
        struct.pack_into("Q", memory, int(at), value)
    struct.pack_into("Q", memory, 40, {"self": os.getpid(), "zombie": int(os.environ["ZOMBIE"]), "gone": (1 << 22) + 1}[case["writer"]])
    with tempfile.NamedTemporaryFile() as f:
        f.write(memory[:case["size"]])
        f.flush()
        try:
            got = _ring.Ring(f.name)
            got.skip()
        except (OSError, ValueError, KeyError, TypeError) as e:  # as open_source takes it
            check(case["want"] is None, "ring:", case["name"], "is refused:", e)
            return
    if case["want"] is None:
        check(False, "ring:", case["name"], "is not refused")
        return
    samples = _energy.Samples(got.domains)
    got.read(samples)
    check({
        "domains": [d.id for d in got.domains], "in_total": [d.in_total for d in got.domains], "steps_uj": [d.step_uj for d in got.domains],
        "interval_ns": got.interval_ns, "samples": [list(row) for row in zip(samples.times, samples.flags, *samples.energies)],
        "lost": got.lost, "ended": got.ended()} == case["want"], "ring:", case["name"], vars(samples), "want", case["want"])
    got.close()


def processes():
    """The numbers of the processes that a case names, and their starts (proc_pid_stat(5), field 22)."""
    found = {"self": os.getpid(), "other": int(os.environ["OTHER"]), "parent": os.getppid(),
             "zombie": int(os.environ["ZOMBIE"]), "gone": (1 << 22) + 1}
    for name in ("self", "other", "parent", "zombie"):
        with open("/proc/%d/stat" % found[name], "rb") as f:
            found[name + ".start"] = int(f.read().rpartition(b")")[2].split()[19])
    return found


def neighbours(case):
    there = processes()

    def named(text):
        for name, number in there.items():
            text = text.replace("{%s}" % name, str(number))
        return text.encode()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        path = file = _neighbours.place()
        if case.get("link"):
            file = os.path.join(folder, "file")
            os.symlink(file, path)
        if case["file"] is not None:
            with open(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as f:
                f.write(named(case["file"]))
        elif case.get("folder"):
            os.mkdir(path)
        others = _neighbours.change(case["mine"])
        want = [there[name] for name in case["others"]]
        check(others == want, "neighbours:", case["name"], "others", others, "want", want)
        left = None
        if os.path.isfile(path):
            with open(path, "rb") as f:
                left = f.read()
            mode = os.stat(path).st_mode & 0o777
            check(mode == 0o600, "neighbours:", case["name"], "mode", oct(mode))
        want = None if case["left"] is None else named(case["left"])
        check(left == want, "neighbours:", case["name"], "left", left, "want", want)


def requests(case):
    text = _requests.line(case["id"], case["route"], case["at_us"], case["tid"], case["cpu_ns"])
    check(text.endswith(b"\n") and text.count(b"\n") == 1, "requests:", case["name"], text)
    got = json.loads(text)
    check(got == case["want"] and list(got) == list(case["want"]), "requests:", case["name"], got, "want", case["want"])


def powercap(case):
    with tempfile.TemporaryDirectory() as root:
        vendor, family, model = case["cpu"].split()
        files = {"sys/class/powercap/" + name: text for name, text in case["files"].items()}
        files["proc/cpuinfo"] = "vendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s" % (vendor, family, model)
        for name, text in files.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(text + "\n")
        why = []
        found, doubts = _powercap.find(root, why)
        domains = [zone.domain() for zone, _ in found]
        for _, fd in found:
            os.close(fd)
        got = [{"id": d.id, "kind": d.kind, "step_uj": d.step_uj, "zone": os.path.basename(os.path.dirname(d.source))} for d in domains]
        check(got == case["domains"], "powercap:", case["name"], got, "want", case["domains"])
        check([d.split(": ")[0] for d in doubts] == case["doubted"], "powercap:", case["name"], doubts, "want", case["doubted"])
        said = [w for w in why if any("/" + name in w for name in case["failed"])]
        check(said == why and len(why) == len(case["failed"]), "powercap:", case["name"], why, "want", case["failed"])


def unwrap(case):
    name, before, now, wrap, elapsed, want = case
    got = _zones.more(before, now, wrap, elapsed)
    check(got == want, "unwrap:", name, got, "want", want)


def counts(case):
    session = _session.Session(save_to_file=False, warn_on_concurrent=False)
    task, refused = _result.TaskResult(session, "t", 0, None, 0), []
    for i, (n, unit) in enumerate(case["calls"]):
        try:
            task.count(float(n), unit)
        except ValueError:
            refused.append(i)
    check(refused == case["refused"], "counts:", case["name"], "refused", refused, "want", case["refused"])
    check(list(task.units.items()) == list(case["want"].items()), "counts:", case["name"], task.units, "want", case["want"])


def budgets(case):
    if "text" in case:
        try:
            got = _budget.parse(case["text"])
        except ValueError:
            got = None
        check(near(got, case["joules"]), "budgets:", case, got)
        return
    got = _budget.Judged(case["runs"], case["budget_j"], case["limit"])
    met = all(abs(a - b) < 1e-6 for a, b in zip((got.energy, got.lo, got.hi), case["mean"]))
    check(met and got.verdict == case["want"], "budgets:", case["name"], vars(got), "want", case["want"])


def tasks(case):
    domains = [_energy.Domain(**d) for d in case["domains"]]
    samples = _energy.Samples(domains)
    for d, told in case.get("gpus", {}).items():
        gpu = samples.gpus[int(d)] = _gpus.Gpu(told["reasons"])
        gpu.state, gpu.asked = told["state"], told["asked"]
        for start, end, *sums, off, number in told["pieces"]:
            gpu.add(start, end, [float(v) for v in sums] + [float(off) ** 2], number)
    times, flags, *energies = (list(column) for column in zip(*case["samples"]))
    samples.extend(times, flags, energies)
    for end, want in case.get("awaited", {}).items():
        check(samples.awaits_gpu(int(end), int(end)) == want, "tasks:", case["name"], "awaited up to", end, "want", want)
    for end, want in case.get("deadlines", {}).items():
        until = [samples.awaits_gpu(int(end), at) for at in (want - 1, want)]
        check(until == [True, False], "tasks:", case["name"], "does not wait up to", want)
    for start, end, want, *shared in case["tasks"]:
        shares = _energy.Shares(None)
        shares.parts = [(a, b, {None: part}) for a, b, part in (shared or [[]])[0]]
        shares.starts.extend(a for a, _, _ in shares.parts)
        e, uses = _energy.energy_of(samples, shares, [(start, end, None, end - start)])
        got = {"uj": e.total, "lo_uj": e.lo, "hi_uj": e.hi, "method": e.method, "domains": e.domains} if e else {}
        if uses:
            got["gpus"] = [{"gpu_method": u.method, "reason": u.reason, "uj": u.total, "program_uj": u.program,
                            "other_uj": u.other, "idle_uj": u.idle, "unattributed_uj": u.rest, "lo_uj": u.lo,
                            "hi_uj": u.hi, "known": u.known} for u in uses]
        got = got or None
        check(got == want, "tasks:", case["name"], got, "want", want)


def shares(case):
    domains = [_energy.Domain(**d) for d in case["domains"]]
    division = _division.Division(domains, case["processors"], case["grain_ns"])
    for i in range(0, len(case["samples"]), 7):  # some at a time, as a ring gives them
        columns = [list(column) for column in zip(*case["samples"][i:i + 7])]
        division.extend(columns[0], columns[1], columns[2:5], columns[5:])

    def ask(pruned):
        for one in case["asked"]:
            start, end, want = one["from_ns"], one["to_ns"], one["want"]
            check(division.known(start, end) == (want is not None), "shares:", case["name"], start, end, "known")
            for d, parts in enumerate(want or []):
                got = division.part(d, [(start, end, 1.0)], 1)
                met = all(abs(a - b) <= 1e-5 for a, b in zip(got, parts))
                check(met, "shares:", case["name"], start, end, pruned, got, "want", parts)
    ask("")
    division.prune([one[edge] for one in case["asked"] for edge in ("from_ns", "to_ns")])
    ask("pruned")


def document(case):
    """The file of a session, made of what a case has."""
    of, where = case["session"], _source.Source()
    domains = [_energy.Domain(**d) for d in case["domains"]]
    vars(where).update(case["source"], domains=domains)
    s = _session.Session(of["name"], save_to_file=False, warn_on_concurrent=False, record_time_series=of["record"])
    s._source, s._samples = where, _energy.Samples(domains)
    if case["samples"]:
        times, flags, *energies = (list(column) for column in zip(*case["samples"]))
        s._samples.extend(times, flags, energies)
    s._pid, s._over = os.getpid(), True
    s._mono, s._began, s._stopped_at = of["mono_ns"], of["began_s"], of["stopped_ns"]
    for t in case["tasks"]:
        parent = None if t["parent"] is None else s._all[t["parent"]]
        task = _result.TaskResult(s, t["name"], t["depth"], parent, 1)
        task.started_at_mono_ns, task.ended_at_mono_ns, task.forgotten = t["started_ns"], t["ended_ns"], t["forgotten"]
        task._windows = [(t["started_ns"], t["ended_ns"], None, t["ended_ns"] - t["started_ns"])]
        task._energy, e = None, t["energy"]
        if e is not None:
            task._energy = _energy.Energy()
            task._energy.domains, task._energy.method = e["domains"], e["method"]
            task._energy.total, task._energy.machine = e["uj"], e["machine_uj"]
            task._energy.lo, task._energy.hi = e["lo_uj"], e["hi_uj"]
            task._energy.program = tuple(e["program_uj"]) if "program_uj" in e else None
        for n, unit in t.get("counts", ()):
            task.count(n, unit)
        s._all.append(task)
    return "".join(_report.chunks(s))


def same(got, want):
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(same(got[k], want[k]) for k in want)
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, bool) or isinstance(got, bool) or not isinstance(want, (int, float)):
        return type(got) is type(want) and got == want
    return isinstance(got, (int, float)) and abs(got - want) <= 1e-12 * max(1, abs(want))


TYPES = {"string": str, "boolean": bool, "list": list, "object": dict, "integer": int, "number": (int, float)}


def fields_of(of):
    with open(os.path.join(folder, "fields.json")) as f:
        return {row["field"]: row for row in json.load(f) if row["of"] == of and row.get("only", "python") == "python"}


def has_fields(of, name, got):
    """Checks that an object has its fields, no others, and values of their types."""
    want = fields_of(of)
    check(got.keys() == want.keys(), "files:", name, of, "has", sorted(got.keys() ^ want.keys()), "or has not")
    for field, value in got.items():
        row = want.get(field, {"type": "string", "null": True})
        fits = row["null"] if value is None else isinstance(value, TYPES[row["type"]])
        check(fits and (row["type"] == "boolean" or not isinstance(value, bool)), "files:", name, of, field, "is", value)


def files(case):
    name, text = case["name"], document(case)
    if os.environ.get("FILES"):
        with open(os.path.join(os.environ["FILES"], "%s.json" % name.replace(" ", "-")), "w") as f:
            f.write(text)
    got = json.loads(text)
    has_fields("file", name, got)
    has_fields("meta", name, got["meta"])
    has_fields("timeseries", name, got["meta"]["timeseries"])
    has_fields("sampler", name, got["meta"]["sampler"])
    has_fields("totals", name, got["totals"])
    places = got["meta"]["domain_topology"].values()
    samples = [sample for task in got["tasks"] for sample in task["timeseries"] or []]
    noises = [task["noise"] for task in got["tasks"] if task["noise"]]
    units = [unit for one in got["tasks"] + [got["totals"]] for unit in one["units"]]
    for of, objects in ("place", places), ("task", got["tasks"]), ("sample", samples), ("noise", noises), \
            ("noise_warning", got["totals"]["noise_warnings"]), ("warning", got["warnings"]), ("unit", units):
        for one in objects:
            has_fields(of, name, one)
    want = case["want"]
    for field, value in want["meta"].items():
        check(same(got["meta"][field], value), "files:", name, "meta", field, got["meta"][field], "want", value)
    check(len(got["tasks"]) == len(want["tasks"]), "files:", name, len(got["tasks"]), "tasks")
    for n, (one, fields) in enumerate(zip(got["tasks"], want["tasks"])):
        for field, value in fields.items():
            check(same(one[field], value), "files:", name, "task", n, field, one[field], "want", value)
    for field, value in want["totals"].items():
        check(same(got["totals"][field], value), "files:", name, "totals", field, got["totals"][field], "want", value)
    slugs = [warning["slug"] for warning in got["warnings"]]
    check(slugs == want["warnings"], "files:", name, "warnings", slugs, "want", want["warnings"])


def fields(case):
    """Each field is held by the files that have its object (above)."""
    check(case["type"] in TYPES, "fields:", case)


def cells(case):
    check(_report.cell(case[0]) == case[1], "cells:", case, repr(_report.cell(case[0])))


def table(path, rule):
    with open(path) as f:
        all_of_it = json.load(f)
    for case in all_of_it:
        rule(case)
    return len(all_of_it)


suspended()
folder = sys.argv[1]
print("between.txt: %d cases" % between(os.path.join(folder, "between.txt")))
for name, rule in ("noise.json", noise), ("ring.json", ring), ("powercap.json", powercap), ("unwrap.json", unwrap), ("lags.json", lags), \
        ("tasks.json", tasks), ("counts.json", counts), ("budgets.json", budgets), ("shares.json", shares), ("cells.json", cells), ("neighbours.json", neighbours), \
        ("requests.json", requests), \
        ("fields.json", fields), ("files.json", files):
    print("%s: %d cases" % (name, table(os.path.join(folder, name), rule)))
sys.exit(faults > 0)
