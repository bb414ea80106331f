"""Traces of Recorder, read by cg: RecorderReader and generate_report with the names of
recorder-viz, so that scripts for it run without it, without pandas and without numpy.

    from codegreen.recorder import RecorderReader, generate_report

    reader = RecorderReader("path/to/trace")
    print(reader.GM.total_ranks, reader.LMs[0].total_records)
    for record in reader.records[0]:
        print(record.tstart, record.tend, reader.funcs[record.func_id], record.args_to_strs())
    generate_report(reader, "output.html")

cg runs as a child process: the one that CODEGREEN_CG names, else the one in PATH. Times
are in seconds since the rank began, and repaired where 32 bits were too few (docs/recorder.md).
"""
import json
import os
import subprocess

from ._ring import find_cg

__all__ = ["RecorderReader", "RecorderMetadata", "GlobalMetadata", "LocalMetadata", "Record", "PyRecord",
           "generate_report"]


class RecorderError(Exception):
    """What cg says of a trace that it cannot read."""


def _cg(arguments):
    """Starts cg report for a trace, with its output as a pipe."""
    cg = find_cg()
    if not cg:
        raise RecorderError("cg reads traces of Recorder and is not in PATH, and CODEGREEN_CG does not name it")
    return subprocess.Popen([cg, "report", "--from", "recorder"] + arguments, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _ended(child):
    """Waits for cg, and raises what it says where it failed."""
    said = child.stderr.read().decode("utf-8", "replace").strip()
    child.stdout.close()
    child.stderr.close()
    if child.wait() != 0:
        raise RecorderError(said or "cg ended with status %d" % child.returncode)


class RecorderMetadata(object):
    """What a trace says of itself: total_ranks, start_ts (seconds since 1970),
    time_resolution (seconds of a tick), ts_buffer_elements, ts_compression_algo (0 none, 1 zlib),
    interprocess_compression, and version."""

    def __init__(self, fields):
        self.__dict__.update(fields)

    @property
    def ts_compression(self):
        """The name that Recorder 3 has for ts_compression_algo."""
        return bool(self.ts_compression_algo)


GlobalMetadata = RecorderMetadata


class LocalMetadata(object):
    """What a rank did: total_records, num_files, filemap (a set of paths), function_count (a
    list by the numbers of functions)."""

    def __init__(self, fields):
        self.total_records = fields["total_records"]
        self.num_files = fields["num_files"]
        self.filemap = set(fields["filemap"])
        self.function_count = fields["function_count"]


class Record(object):
    """A call: tstart and tend in seconds, level (of calls around it), func_id, tid, arg_count
    and args, a list of bytes. A func_id that is not among the functions is of the program."""
    __slots__ = ("tstart", "tend", "level", "func_id", "tid", "arg_count", "args", "rank")

    def __init__(self, fields):
        self.tstart, self.tend, self.level = fields["tstart"], fields["tend"], fields["level"]
        self.func_id, self.tid, self.arg_count = fields["func_id"], fields["tid"], fields["arg_count"]
        self.args = [a.encode("utf-8") for a in fields["args"]]
        self.rank = fields["rank"]

    @property
    def call_depth(self):
        """The name that Recorder 3 has for level."""
        return self.level

    def args_to_strs(self):
        """The arguments as a list of str."""
        return [a.decode("utf-8") for a in self.args]

    def __repr__(self):
        return "Record(%.7f, %.7f, func_id=%d, args=%r)" % (self.tstart, self.tend, self.func_id, self.args_to_strs())


PyRecord = Record


class _Records(object):
    """The records of a rank, in the order of the trace. Iterating reads them one after the
    other and keeps none; an index or a slice keeps all of the rank."""

    def __init__(self, folder, rank, total):
        self._folder, self._rank, self._total, self._kept = folder, rank, total, None

    def __len__(self):
        return self._total

    def __iter__(self):
        if self._kept is not None:
            return iter(self._kept)
        return self._read()

    def _read(self):
        child = _cg(["-f", "jsonl", "--ranks", str(self._rank), "--", self._folder])
        try:
            child.stdout.readline()
            for line in child.stdout:
                yield Record(json.loads(line.decode("utf-8")))
            _ended(child)
        finally:
            if child.poll() is None:
                child.kill()
                child.stdout.close()
                child.stderr.close()
                child.wait()

    def __getitem__(self, index):
        if self._kept is None:
            self._kept = list(self._read())
        return self._kept[index]


class RecorderReader(object):
    """A trace: GM (RecorderMetadata), LMs (a LocalMetadata for each rank), records (records[i]
    are those of rank i) and funcs (names of functions by their numbers). Raises RecorderError
    for what is no trace, or a broken one."""

    def __init__(self, logs_dir):
        self.logs_dir = os.path.abspath(os.fspath(logs_dir))
        child = _cg(["-f", "jsonl", "--records", "0", "--", self.logs_dir])
        head = child.stdout.readline()
        _ended(child)
        fields = json.loads(head.decode("utf-8"))
        self.GM = RecorderMetadata(fields["GM"])
        self.funcs = fields["funcs"]
        self.LMs = [LocalMetadata(rank) for rank in fields["LMs"]]
        self.records = [_Records(self.logs_dir, i, rank.total_records) for i, rank in enumerate(self.LMs)]


def generate_report(reader, output_path, energy=()):
    """Writes the page of a trace to output_path; .html is added where it is missing. energy are
    logs of cg track or WattAMeter, as cg report --energy takes them."""
    output_path = os.path.abspath(os.fspath(output_path))
    if not output_path.endswith(".html"):
        output_path += ".html"
    arguments = ["-o", output_path]
    for log in [energy] if isinstance(energy, str) else energy:
        arguments += ["--energy", os.fspath(log)]
    _ended(_cg(arguments + ["--", reader.logs_dir]))
