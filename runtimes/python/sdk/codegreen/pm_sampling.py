"""PM sampling of NVIDIA GPUs, with the names and rules of NVIDIA's module cupti.pm_sampling.

    from codegreen.pm_sampling import Collector

    collector = Collector(device_index=0)
    collector.enable()
    collector.configure(metrics=["sm__cycles_active.avg"])
    collector.start()
    ...
    collector.stop()
    for sample in collector.decode():
        print(sample.start_timestamp, sample.metric_values)
    collector.disable()

cg calls CUPTI, in a process of its own for each collector that is enabled, and in one that evaluates counter
data. It is the cg that CODEGREEN_CG names, else the one in PATH. docs/gpu.md of cg says more.
"""
from __future__ import annotations

import atexit
import enum
import json
import math
import os
import subprocess
import threading

from ._ring import find_cg

__all__ = ["Collector", "Sample", "CounterData", "TriggerMode", "DecodeStopReason", "HardwareBuffer_AppendMode",
           "cuptiError"]


class cuptiError(Exception):
    """CUPTI failed in a way that has no exception of its own, or cg that calls it did."""


class TriggerMode(enum.IntEnum):
    """What makes the GPU take a sample: a number of cycles of its system clock, or of nanoseconds."""
    GPU_SYSCLK_INTERVAL = 0
    GPU_TIME_INTERVAL = 1
    COUNT = 2


class DecodeStopReason(enum.IntEnum):
    """Why a decoding ended."""
    OTHER = 0
    COUNTER_DATA_FULL = 1
    END_OF_RECORDS = 2
    COUNT = 3


class HardwareBuffer_AppendMode(enum.IntEnum):
    """What the GPU keeps when its buffer is full."""
    KEEP_OLDEST = 0
    KEEP_LATEST = 1


_EXCEPTIONS = {"value": ValueError, "memory": MemoryError, "state": RuntimeError, "denied": PermissionError}


class _Server(object):
    """A cg gpu serve, which ends when the pipe to it is closed. One call at a time."""

    def __init__(self):
        cg = find_cg()
        if not cg:
            raise RuntimeError("cg calls CUPTI and is not in PATH, and CODEGREEN_CG does not name it")
        self.process = subprocess.Popen([cg, "gpu", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.loaded = None  # the data whose values it computes

    def call(self, call, image=b"", **values):
        """Returns the answer, and the bytes that came with it."""
        if self.pid != os.getpid():
            raise RuntimeError("this collector belongs to the process that this one was forked from")
        request = json.dumps(dict(values, call=call, bytes=len(image))).encode() + b"\n"
        with self.lock:
            try:
                answer, more = self._ask(request, image)
            except BaseException:  # such as an interrupt: what it answers later would be taken for another call's
                self.close()
                raise
        if answer.get("error"):
            raise _EXCEPTIONS.get(answer.get("kind"), cuptiError)(answer["error"])
        return answer, more

    def _ask(self, request, image):
        try:
            self.process.stdin.write(request)
            self.process.stdin.write(image)
            self.process.stdin.flush()
        except (OSError, ValueError):
            pass  # what it said is more
        line = self.process.stdout.readline() if not self.process.stdout.closed else b""
        if not line.endswith(b"\n"):
            raise cuptiError(self._said())
        answer = json.loads(line.decode())
        return answer, self.process.stdout.read(answer.get("bytes", 0))

    def _said(self):
        """Why it is gone."""
        said = b"" if self.process.stderr.closed else self.process.stderr.read()
        self.close()
        return (said.decode("utf-8", "replace").strip() or "cg ended with status %s" % self.process.returncode) + \
            " (cg gpu serve, which calls CUPTI)"

    def close(self):
        """Ends it: it gives the GPU back."""
        if self.pid != os.getpid():
            return
        for pipe in self.process.stdin, self.process.stdout, self.process.stderr:
            try:
                pipe.close()
            except OSError:
                pass
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:  # a process that was forked from this one holds the pipe, too
            self.process.kill()
            self.process.wait()


_evaluator = None  # computes the values of all counter data of this process
_evaluating = threading.RLock()


def _evaluate(data, first, count):
    """The values of some samples, one list for each."""
    global _evaluator
    with _evaluating:
        if _evaluator is None or _evaluator.pid != os.getpid() or _evaluator.process.poll() is not None:
            _evaluator = _Server()
        if _evaluator.loaded is not data:
            _evaluator.loaded = None
            _evaluator.call("load", data._image, chip_name=data._chip_name, names=data.metrics,
                            num_completed_samples=data.num_completed_samples)
            _evaluator.loaded = data
        values = _evaluator.call("evaluate", first=first, count=count)[0].get("values", [])
    values = [math.nan if v is None else float(v) for v in values]
    n = len(data.metrics)
    return [values[i * n:(i + 1) * n] for i in range(count)]


@atexit.register
def _end():
    if _evaluator is not None:
        _evaluator.close()


class Sample(object):
    """One completed interval: when it began and ended, and one value for each metric."""

    def __init__(self, start_timestamp: int, end_timestamp: int, metric_values: list[float]):
        self.start_timestamp = start_timestamp
        self.end_timestamp = end_timestamp
        self.metric_values = metric_values

    def __repr__(self):
        return "Sample(start_timestamp=%r, end_timestamp=%r, metric_values=%r)" % (
            self.start_timestamp, self.end_timestamp, self.metric_values)

    def __eq__(self, other):
        return isinstance(other, Sample) and vars(self) == vars(other)

    __hash__ = None


_AT_ONCE = 1024  # samples that an iteration evaluates together


class CounterData(object):
    """What a decoding found. Values are computed when samples are asked for, by cg; it can be pickled, and then
    evaluated by another process or on another machine.

    metrics, num_total_samples, num_populated_samples and num_completed_samples are NVIDIA's. decode_stop_reason and
    overflow are cg's own: why the decoding ended, and whether the hardware buffer was full.
    """

    def __init__(self, *, image: ndarray, metrics: list[str], chip_name: str, num_total_samples: int,
                 num_populated_samples: int, num_completed_samples: int, start_timestamps: list[int],
                 end_timestamps: list[int]):
        if not len(start_timestamps) == len(end_timestamps) == num_completed_samples:
            raise ValueError("%d samples have %d starts and %d ends" % (
                num_completed_samples, len(start_timestamps), len(end_timestamps)))
        self.metrics = list(metrics)
        self.num_total_samples = num_total_samples
        self.num_populated_samples = num_populated_samples
        self.num_completed_samples = num_completed_samples
        self.decode_stop_reason = DecodeStopReason.OTHER
        self.overflow = False
        self._image = bytes(image)
        self._chip_name = chip_name
        self._starts = list(start_timestamps)
        self._ends = list(end_timestamps)

    def _samples(self, first, count):
        values = _evaluate(self, first, count) if count else []
        return [Sample(self._starts[first + i], self._ends[first + i], values[i]) for i in range(count)]

    def __len__(self):
        return self.num_completed_samples

    def __iter__(self):
        for first in range(0, len(self), _AT_ONCE):
            for sample in self._samples(first, min(_AT_ONCE, len(self) - first)):
                yield sample

    def __getitem__(self, index):
        if isinstance(index, slice):
            chosen = range(*index.indices(len(self)))
            if not chosen:
                return []
            first, last = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
            if abs(chosen.step) > 16:  # few of many
                return [self._samples(i, 1)[0] for i in chosen]
            samples = self._samples(first, last - first + 1)
            return [samples[i - first] for i in chosen]
        i = index.__index__()
        if not -len(self) <= i < len(self):
            raise IndexError("there is no sample %d: there are %d" % (i, len(self)))
        return self._samples(i % len(self), 1)[0]


class Collector(object):
    """Samples one GPU. Calls come in the order enable, configure, start, stop, disable; decode from configure on."""

    def __init__(self, device_index: int = 0):
        self._device = device_index
        self._server = None  # while it is enabled

    def enable(self) -> None:
        """Begins PM sampling of the GPU."""
        if self._server is not None:
            raise RuntimeError("PM sampling is already enabled on GPU %s" % self._device)
        device = self._device.__index__()
        server = _Server()
        try:
            server.call("enable", device=device)
        except BaseException:
            server.close()
            raise
        self._server = server

    def _call(self, call, **values):
        if self._server is None:
            raise RuntimeError("enable the collector before %s" % call)
        return self._server.call(call, **values)

    def configure(self, *, metrics: list[str], hardware_buffer_size: int = 536870912, sampling_interval: int = 10000,
                  trigger_mode: TriggerMode = TriggerMode.GPU_TIME_INTERVAL,
                  hw_buffer_append_mode: HardwareBuffer_AppendMode = HardwareBuffer_AppendMode.KEEP_OLDEST,
                  single_pass_metric_set_name: str | None = None) -> None:
        """Chooses what is sampled, and how often: in nanoseconds or cycles, as trigger_mode is."""
        if isinstance(metrics, str):
            raise ValueError("metrics is a list of names, not one name")
        for name, number in ("hardware_buffer_size", hardware_buffer_size), ("sampling_interval", sampling_interval):
            if not 0 < number < 1 << 63:
                raise ValueError("%s is %r: use 1 to 2^63-1" % (name, number))
        self._call("configure", metrics=list(metrics), hardware_buffer_size=int(hardware_buffer_size),
                   sampling_interval=int(sampling_interval), trigger_mode=int(trigger_mode),
                   hw_buffer_append_mode=int(hw_buffer_append_mode),
                   single_pass_metric_set_name=single_pass_metric_set_name or "")

    def start(self) -> None:
        """Begins to take samples."""
        self._call("start")

    def stop(self) -> None:
        """Ends taking samples; those that were taken can be decoded still."""
        self._call("stop")

    def decode(self, max_samples: int = 10000) -> CounterData:
        """Takes the samples that the GPU has, max_samples at most: what does not fit is lost."""
        answer, image = self._call("decode", max_samples=int(max_samples))
        found = answer["data"]
        data = CounterData(image=image, metrics=found["names"], chip_name=found["chip_name"],
                           num_total_samples=found["num_total_samples"],
                           num_populated_samples=found["num_populated_samples"],
                           num_completed_samples=found["num_completed_samples"],
                           start_timestamps=found.get("start_timestamps", []),
                           end_timestamps=found.get("end_timestamps", []))
        data.decode_stop_reason = DecodeStopReason(found["decode_stop_reason"])
        data.overflow = found["overflow"]
        return data

    def disable(self) -> None:
        """Gives the GPU back. It may be called at any time, also twice."""
        server, self._server = self._server, None
        if server is not None:
            try:
                server.call("disable")
            finally:
                server.close()

    def __del__(self):
        server = getattr(self, "_server", None)
        if server is not None:
            server.close()
