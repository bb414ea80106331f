"""What a session writes: docs/session.md and docs/session.schema.json of cg."""
import json
import os
import sys
import time
from datetime import datetime, timedelta, timezone
from itertools import islice

from ._energy import RANK
from ._noise import rounded
from ._ring import find_cg
from ._signals import plain
from ._spec import (FLAG_FAILED, FORMULA_STARTS, KINDS, LATE_PART, METHOD_SHARED, OUTLIER_METHOD, SAMPLE_CLOCK,
                    SAMPLE_KEYS, SCHEMA_VERSION, SESSION_TOOL, SUPPORTS, TASK_COLUMNS, TIMESTAMP_FORMAT)
from ._units import of_task, of_tasks

DRAWING = 300  # seconds in which cg has to draw a plot

_run_id = None


def host():
    """(name of the system, name of the host, release, hardware)."""
    try:
        u = os.uname()
        return u.sysname, u.nodename, u.release, u.machine
    except AttributeError:  # not Unix
        import platform
        return platform.system(), platform.node(), platform.release(), platform.machine()


def run_id():
    global _run_id
    if _run_id is None or _run_id[0] != os.getpid():
        _run_id = os.getpid(), os.urandom(6).hex()
    return _run_id[1]


def j(micro):
    """Joules with six decimals, None for None."""
    return None if micro is None else micro / 1000000


# Samples

def samples_of(session, i, end):
    """Yields samples i to end as dicts. Energies count from the session's start.

    domain_w are means since the sample before. power_w is the mean from the sample
    before to the one after, so that its integral by the trapezoidal rule is the
    energy, however far apart samples are.
    """
    series = session._samples
    times, flags, domains = series.times, series.flags, series.domains
    tops = [d for d, domain in enumerate(domains) if domain.in_total]
    first = _first(session)
    for n in range(i, end):
        energies = [series.energies[d][n] for d in range(len(domains))]
        sample = {
            "t_ns": times[n],
            "energy_j": j(sum(energies[d] - first[d] for d in tops)),
            "power_w": None,
            "domain_j": {domain.id: j(energies[d] - first[d]) for d, domain in enumerate(domains)},
            "domain_w": {},
        }
        span = times[n] - times[n - 1] if n else 0
        if span > 0 and not (flags[n] | flags[n - 1]) & FLAG_FAILED:
            grown = [energies[d] - series.energies[d][n - 1] for d in range(len(domains))]
            sample["domain_w"] = {domain.id: rounded(e * 1e3 / span) for domain, e in zip(domains, grown)}
            k = n + 1 if n + 1 < len(times) and not flags[n + 1] & FLAG_FAILED else n
            around = sum(series.energies[d][k] - series.energies[d][n - 1] for d in tops)
            sample["power_w"] = rounded(around * 1e3 / (times[k] - times[n - 1]))
        yield sample


def sample_lines(session, i, end):
    """The samples as samples_of gives them, in JSON: there may be a million."""
    series, first = session._samples, _first(session)
    times, flags, domains = series.times, series.flags, series.domains
    tops = [d for d, domain in enumerate(domains) if domain.in_total]
    dump = lambda names: ", ".join("%s: %%r" % json.dumps(name).replace("%", "%%") for name in names)
    ids = dump([domain.id for domain in domains])
    whole = '{"t_ns": %d, "energy_j": %r, "power_w": %r, "domain_j": {' + ids + '}, "domain_w": {' + ids + "}}"
    bare = '{"t_ns": %d, "energy_j": %r, "power_w": null, "domain_j": {' + ids + '}, "domain_w": {}}'
    columns, last = series.energies, len(times) - 1
    before = [e[i - 1] for e in columns] if i else None
    for n in range(i, end):
        t, energies = times[n], [e[n] for e in columns]
        since = [e - f for e, f in zip(energies, first)]
        total = sum([since[d] for d in tops]) / 1000000
        joules = [e / 1000000 for e in since]
        if before is None or t <= times[n - 1] or (flags[n] | flags[n - 1]) & FLAG_FAILED:
            yield bare % (t, total, *joules)
        else:
            span = t - times[n - 1]
            k = n + 1 if n < last and not flags[n + 1] & FLAG_FAILED else n
            power = sum([columns[d][k] - before[d] for d in tops]) * 1e3 / (times[k] - times[n - 1])
            watts = [rounded((e - b) * 1e3 / span) for e, b in zip(energies, before)]
            yield whole % (t, total, rounded(power), *joules, *watts)
        before = energies


def _first(session):
    """uJ of each domain at the last sample before the session's start."""
    from bisect import bisect_right
    series = session._samples
    at = max(0, bisect_right(series.times, session._mono) - 1)
    return [e[at] if at < len(e) else 0 for e in series.energies]


# The report

def kind_of(session):
    tops = [d.method for d in session._samples.domains if d.in_total]
    if not tops:
        return "unavailable"
    worst = max(KINDS.index(m) if m in KINDS else len(KINDS) - 1 for m in tops)  # one of a later cg is not trusted
    return "derived" if worst == 0 and session._samples.failed else KINDS[worst]


def source_of(session):
    names = []
    for d in session._samples.domains:
        if d.in_total and d.source and d.source not in names:
            names.append(d.source)
    return names[0] + (" and %d more" % (len(names) - 1) if len(names) > 1 else "") if names else ""


def provenance(session, energy):
    """The fields beside an energy."""
    known = energy is not None
    return {
        "energy_lo_j": j(energy.lo) if known else None,
        "energy_hi_j": j(energy.hi) if known else None,
        "energy_kind": kind_of(session) if known else "unavailable",
        "energy_method": energy.method if known else "none",
        "energy_source": source_of(session),
    }


def share(program):
    """The program's share of an energy: (uJ, lo, hi), or None."""
    energy, lo, hi = map(j, program or (None, None, None))
    return {"program_energy_j": energy, "program_energy_lo_j": lo, "program_energy_hi_j": hi}


def powers(domains, seconds):
    return {d: v / seconds for d, v in domains.items()} if seconds > 0 else {}


def task_of(session, task, noise):
    e = task._energy
    energy, seconds = (j(e.total) if e else None), task.duration_s
    domains = {d: j(v) for d, v in e.domains.items()} if e else {}
    out = {
        "name": task.name, "depth": task.depth, "parent": task.parent,
        "energy_j": energy,
        "avg_power_w": energy / seconds if e and seconds > 0 else None,
        "duration_s": seconds, "suspended_s": task.suspended_s,
    }
    out.update(provenance(session, e))
    out.update({
        "machine_energy_j": j(e.machine) if e else None,
    })
    out.update(share(e.program if e else None))
    out.update({
        "started_at": task.started_at, "ended_at": task.ended_at,
        "started_at_mono_ns": task.started_at_mono_ns, "ended_at_mono_ns": task.ended_at_mono_ns,
        "domains": domains, "domains_power_w": powers(domains, seconds),
        "thread": task.thread, "forgotten": task.forgotten, "units": of_task(task),
    })
    if task._gpus:
        out["gpus"] = [use.entry() for use in task._gpus]
    if session._gauges:
        out["gauges"] = session._gauges.within(task.started_at_mono_ns, task.ended_at_mono_ns)
    out.update({"timeseries": None, "noise": noise})
    return out


def union(intervals):
    total, until = 0, None
    for a, b in sorted(intervals):
        if until is None or a > until:
            total, until = total + b - a, b
        elif b > until:
            total, until = total + b - until, b
    return total


class Sum:
    """Energy of several tasks together."""

    def __init__(self, energies):
        self.total = sum(e.total for e in energies)
        self.lo, self.hi = sum(e.lo for e in energies), sum(e.hi for e in energies)
        methods = [e.method for e in energies]
        self.method = METHOD_SHARED if METHOD_SHARED in methods else max(methods, key=lambda m: RANK[m])
        programs = [e.program for e in energies]
        self.program = None if None in programs else tuple(map(sum, zip(*programs)))


def totals_of(session, done, noises, end):
    tops = [t for t in done if t.depth == 0]
    energies = [t._energy for t in tops]
    known = bool(tops) and all(e is not None for e in energies)
    e = Sum(energies) if known else None
    windows = [w[:2] for t in tops for w in t._windows]
    lasted = sum(t._active_ns for t in tops)
    covered = union(windows)
    domains, seconds = {}, {}
    for t in tops:
        if t._energy is not None:
            for d, v in t._energy.domains.items():
                domains[d] = domains.get(d, 0) + v
                seconds[d] = seconds.get(d, 0) + t._active_ns
    wall = end - session._mono
    cvs = [n["power_cv_percent"] for n in noises.values() if n and n["power_cv_percent"] is not None]
    from ._noise import warning_of
    warned = [warning_of(t.name, t.depth, noises[id(t)]) for t in done if noises.get(id(t))]
    out = {"energy_j": j(e.total) if e else None}
    out.update(provenance(session, e))
    out.update(share(e.program if e else None))
    out.update({
        "avg_power_w": j(e.total) / (lasted * 1e-9) if e and lasted else None,
        "duration_s": lasted * 1e-9, "task_duration_s": lasted * 1e-9,
        "wall_duration_s": wall * 1e-9,
        "gap_duration_s": max(0, wall - covered) * 1e-9,
        "concurrent_overlap_s": max(0, lasted - covered) * 1e-9,
        "n_tasks": len(done), "n_top_level_tasks": len(tops),
        "domains": {d: j(v) for d, v in domains.items()} if known else {},
        "domains_power_w": {d: j(v) / (seconds[d] * 1e-9) for d, v in domains.items() if seconds[d]} if known else {},
        "sample_interval_ms": session._source.interval_ns / 1e6 if session._source.domains else None,
        "worst_within_task_power_cv_percent": max(cvs) if cvs else None,
        "noise_warnings": [w for w in warned if w],
        "units": of_tasks(done, Sum),
    })
    return out


def quality_of(session, done, totals):
    samples = session._samples
    counted = [d for d, domain in enumerate(samples.domains) if domain.in_total]
    if not counted:
        return "no_backend"
    if not done:
        return "no_tasks"
    if any(t._energy is None for t in done):
        # No counter moved, or more is wrong than that.
        unmoved = not samples.failed and not any(samples.knots[d].at for d in counted)
        read = all(t._windows and t._windows[-1][1] <= samples.latest for t in done)
        return "energy_zero" if unmoved and read else "failed"
    if samples.late >= LATE_PART * (samples.latest - session._mono) > 0:
        return "failed"
    if not totals["energy_j"]:
        return "energy_zero"
    return "estimated" if kind_of(session) == "estimated" else "ok"


def moment(t):
    return datetime.fromtimestamp(t, timezone.utc)


def zone(t):
    """The label of the host's zone: a name, or +05:30 for zones without one."""
    label = time.strftime("%Z", time.localtime(t)) or "UTC"
    if label[:1] in "+-" and label[1:].isdigit():
        digits = label[1:].ljust(4, "0")
        return "%s%s:%s" % (label[0], digits[:2], digits[2:4])
    return label


def cpu_model(session):
    if session._source.cpu_model:
        return session._source.cpu_model
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    return host()[3]


def topology_of(session):
    if session._source.topology is not None:
        return session._source.topology
    domains = session._samples.domains
    return {d.id: {
        "top_level": d.in_total, "kind": d.kind,
        "includes": [o.id for o in domains if o.parent == d.id and not o.in_total],
    } for d in domains}


def meta_of(session, done, totals, end):
    from . import __version__
    began = moment(session._began)
    ended = began + timedelta(microseconds=(end - session._mono) // 1000)
    local, local_end = began.astimezone(), ended.astimezone()
    form = lambda t: t.isoformat(timespec="microseconds")
    source = session._source
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = ""
    gauges = {"gauges": session._gauges.meta()} if session._gauges else {}
    return {
        "schema_version": SCHEMA_VERSION, "tool": SESSION_TOOL,
        "codegreen_version": __version__, "cg_version": source.cg_version,
        "run_id": run_id(), "session_name": session.name,
        "started_at": form(began), "ended_at": form(ended),
        "started_at_local": form(local), "ended_at_local": form(local_end),
        "host_timezone": zone(session._began),
        "duration_total_s": (end - session._mono) * 1e-9,
        "hostname": host()[1], "pid": session._pid, "platform": sys.platform,
        "language": "python", "language_version": sys.version.split()[0], "python_version": sys.version.split()[0],
        "cpu_model": cpu_model(session), "kernel": "-".join(host()[::2] + host()[3:]),
        "cwd": cwd, "argv": list(getattr(sys, "argv", [])),
        "codegreen_env": {k: v for k, v in sorted(os.environ.items()) if k.startswith(("CODEGREEN_", "CG_"))},
        "measurement_quality": quality_of(session, done, totals),
        "domain_support": source.support or SUPPORTS[min(2, len(source.domains))],
        "outlier_method": OUTLIER_METHOD, "iso_timestamp_format": TIMESTAMP_FORMAT,
        "nemb_abi_version": source.version,
        "domain_topology": topology_of(session),
        "timeseries": {"enabled": session.record_time_series, "schema_version": SCHEMA_VERSION,
                       "sample_keys": SAMPLE_KEYS, "t_ns_clock": SAMPLE_CLOCK, "inclusive_of_children": True},
        "sampler": {"via": source.via, "interval_ms": source.interval_ns / 1e6 if source.domains else None,
                    "samples": session._samples.count, "lost": source.lost, "gaps": session._samples.gaps},
        **gauges,
    }


def report(session):
    """(the report with no samples in it, the tasks that it tells)."""
    end = session._stopped_at or time.monotonic_ns()
    if session._gauges:
        session._gauges.read()
    done = [t for t in session._all if t.ended_at_mono_ns is not None]
    for t in done:
        t._resolved()
    noises = {id(t): session._noise(t) for t in done} if session.record_time_series else {}
    totals = totals_of(session, done, noises, end)
    tasks = [task_of(session, t, noises.get(id(t))) for t in done]
    meta = meta_of(session, done, totals, end)
    warn_of_noise(session, totals["noise_warnings"])
    warned = [{"slug": slug, "message": message} for slug, message in session._warnings]
    return {"meta": meta, "tasks": tasks, "totals": totals, "warnings": warned}, done


def warn_of_noise(session, found):
    uneven, missing = [], []
    for w in found:
        for reason in w["reasons"]:
            if reason.startswith("within"):
                uneven.append("%r by %.1f %%" % (w["task"], w["within_task_power_cv_percent"]))
            elif reason.startswith("drop"):
                missing.append("%r %.0f %%" % (w["task"], 100 * w["drop_ratio"]))
    if uneven:
        session._note("high-noise", "the power of these tasks varied: " + first_five(uneven))
    if missing:
        session._note("samples-missing", "samples of these tasks are missing: " + first_five(missing))


def first_five(texts):
    """A list as a warning shows it."""
    return ", ".join(texts[:5]) + (" and %d more" % (len(texts) - 5) if len(texts) > 5 else "")


def whole(session):
    """The report with its samples, as dicts and lists."""
    with session._data:
        out, done = report(session)
        if session.record_time_series:
            for entry, task in zip(out["tasks"], done):
                entry["timeseries"] = list(samples_of(session, *session._range(task)))
            if session._gauges:
                out["gauges"] = list(session._gauges.series())
    return out


# Files

def chunks(session):
    """The text of the JSON, in pieces: samples may be many."""
    out, done = report(session)
    dump = lambda v: json.dumps(v, ensure_ascii=False, allow_nan=False, default=str)
    yield '{\n"meta": %s,\n"tasks": [' % dump(out["meta"])
    for n, (entry, task) in enumerate(zip(out["tasks"], done)):
        yield ",\n" if n else "\n"
        if not session.record_time_series:
            yield dump(entry)
            continue
        noise = entry.pop("noise")
        del entry["timeseries"]
        yield dump(entry)[:-1] + ', "timeseries": ['
        series, begun = sample_lines(session, *session._range(task)), False
        while True:
            some = list(islice(series, 1000))
            if not some:
                break
            yield ("," if begun else "") + "\n" + ",\n".join(some)
            begun = True
        yield '], "noise": %s}' % dump(noise)
    if session._gauges and session.record_time_series:
        yield '],\n"gauges": ['
        for n, reading in enumerate(session._gauges.series()):
            yield (",\n" if n else "\n") + dump(reading)
    yield '],\n"totals": %s,\n"warnings": %s\n}\n' % (dump(out["totals"]), dump(out["warnings"]))


def lines(session):
    """The text of the CSV, in pieces."""
    import csv
    import io
    out, _ = report(session)
    ids = [d.id for d in session._samples.domains]
    rows = [TASK_COLUMNS + [cell(column) for d in ids for column in ("domain_%s_j" % d, "domain_%s_w" % d)]]
    for t in out["tasks"]:
        row = [cell(t[column]) for column in TASK_COLUMNS]
        for d in ids:
            row += t["domains"].get(d), t["domains_power_w"].get(d)
        rows.append(row)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    yield text.getvalue()


def cell(value):
    """A text that no spreadsheet runs (owasp.org/www-community/attacks/CSV_Injection):
    an apostrophe stands before what begins like a formula, also behind a semicolon,
    which separates cells in some countries. Numbers stay numbers."""
    if not isinstance(value, str) or number(value):
        return value
    parts = value.split(";")
    for i, part in enumerate(parts):
        text = part.lstrip(" ")
        if text and text[0] in FORMULA_STARTS:
            parts[i] = part[:len(part) - len(text)] + "'" + text
    return plain(";".join(parts))


def number(text):
    try:
        float(text)
    except ValueError:
        return False
    return not text.strip("+-.0123456789eE")


def write(session):
    """Writes the session's file: aside, synced, and renamed. OSError if it cannot be."""
    path = session.output_file
    as_csv = session.output_format == "csv" or session.output_format == "auto" and path.lower().endswith(".csv")
    save(path, lines(session) if as_csv else chunks(session))


def save(path, pieces):
    if os.path.exists(path) and not os.path.isfile(path):
        # A device or a pipe stays what it is; nobody is waited for who reads it.
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(fd, True)
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace", newline="") as f:
            f.writelines(pieces)
        return
    path = os.path.realpath(path)
    part = os.path.join(os.path.dirname(path), ".%s.part-%s" % (os.path.basename(path), os.urandom(4).hex()))
    try:
        mode = os.stat(path).st_mode & 0o777
    except OSError:
        mode = None  # a new file, as the umask has it, which is the process's and cannot be asked for without a change
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(part, new, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace", newline="") as f:
            for piece in pieces:
                f.write(piece)
            f.flush()
            os.fsync(f.fileno())
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(f.fileno(), mode)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def plot(session, path):
    """Lets cg draw the session as it is now."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".html", ".svg", ".png"):
        raise ValueError("%s: a plot ends in .html, .svg or .png" % path)
    if not session.record_time_series:
        session._note("no-plot", "nothing to draw: power over time needs record_time_series=True")
        return False
    if not hasattr(session, "_source"):
        session._note("no-plot", "nothing to draw: session %r was not started" % session.name)
        return False
    cg, name = session._source.cg or find_cg(), os.path.basename(path)
    if not cg:
        session._note("no-plot", "cg draws plots and is not in PATH, and CODEGREEN_CG does not name it: "
                                 "%s is not drawn" % name)
        return False
    import subprocess
    import tempfile
    try:
        with tempfile.TemporaryDirectory(prefix="codegreen-") as folder:
            saved = os.path.join(folder, os.path.splitext(name)[0] + ".json")
            with session._data:
                save(saved, chunks(session))
            done = subprocess.run([cg, "report", saved, "-o", path], timeout=DRAWING,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except Exception as e:  # of any kind: a session never breaks the program
        session._note("no-plot", "%s is not drawn: %s" % (name, e))
        return False
    if done.returncode:
        session._note("no-plot", "%s is not drawn: %s" % (name, done.stderr.decode("utf-8", "replace").strip()))
    return done.returncode == 0
