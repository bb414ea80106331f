"""Joules on the spans of OpenTelemetry (docs/hooks.md of cg).

    from codegreen.opentelemetry import EnergySpanProcessor

    provider.add_span_processor(EnergySpanProcessor(BatchSpanProcessor(exporter)))
"""
import logging
import os
import queue
import threading
import time

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from . import _measured
from ._result import Stack, TaskResult

PREFIX = "codegreen."
log = logging.getLogger(__name__)


class EnergySpanProcessor(SpanProcessor):
    """Gives spans to the next processor with their energy.

    The energy of a span is known some 20 ms after its end, so the next processor gets it then, in a thread of this one.
    Spans of one trace that follow from each other in this process share a stack: traces that run at the same time share
    the machine's energy as tasks of different threads do. The session is the one that is active, or one of its own.
    """

    def __init__(self, next_processor):
        self._next = next_processor
        self._session, self._own = _measured.session_for("opentelemetry", save_to_file=False)
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._open = {}  # by the span's number: its task, and the stack with its number of open spans
        self._ended = queue.SimpleQueue()
        self._worker = threading.Thread(target=self._work, name="codegreen-spans", daemon=True)
        self._worker.start()

    def on_start(self, span, parent_context=None):
        if os.getpid() == self._pid and self._session._running:
            self._begin(span)
        self._next.on_start(span, parent_context=parent_context)

    def on_end(self, span):
        found = None
        if os.getpid() == self._pid:  # in a forked child another thread may have had the lock
            with self._lock:
                found = self._open.pop(span.context.span_id, None)
        if found is None:  # it began before this processor was there, behind the session, or before a fork
            self._next.on_end(span)
            return
        self._end(*found)
        if self._worker.is_alive():
            self._ended.put((span, found[0]))
        else:  # behind shutdown, or at the end of the interpreter
            self._hand_on(span, found[0])

    def shutdown(self):
        if os.getpid() == self._pid:
            if self._worker.is_alive():
                self._ended.put(None)
                self._worker.join(30)
            if not self._worker.is_alive():
                self._hand_on_rest()
            if self._own:
                self._session.stop()
        self._next.shutdown()

    def force_flush(self, timeout_millis=30000):
        until = time.monotonic() + timeout_millis / 1000
        if os.getpid() == self._pid and self._worker.is_alive():
            done = threading.Event()
            self._ended.put(done)
            if not done.wait(timeout_millis / 1000):
                return False
        return self._next.force_flush(max(0, int((until - time.monotonic()) * 1000)))

    def _begin(self, span):
        session = self._session
        with self._lock:
            parent = self._open.get(span.parent.span_id) if span.parent is not None else None
            within, crowd = parent or (None, [Stack(), 0])
            task = TaskResult(session, span.name, within.depth + 1 if within else 0, within, crowd[0].thread)
            session._all.append(task)
            session._pending.append(task)
            task._aside = crowd[0]
            if session._edge:
                session._edge(session._samples)
            task._since = task.started_at_mono_ns = time.monotonic_ns()
            if crowd[1] == 0:
                session._enter(task._since, crowd[0])
            crowd[1] += 1
            self._open[span.context.span_id] = task, crowd

    def _end(self, task, crowd):
        with self._lock:
            now = time.monotonic_ns()
            task._close(now, crowd[0])
            if task.ended_at_mono_ns is None:  # else the session ended it meanwhile
                task.ended_at_mono_ns = now
            crowd[1] -= 1
            if crowd[1] == 0:
                self._session._exit(now, crowd[0])
            if self._session._edge:
                self._session._edge(self._session._samples)

    def _work(self):
        while True:
            one = self._ended.get()
            if one is None:
                return
            if isinstance(one, threading.Event):
                one.set()
                continue
            self._hand_on(*one)

    def _hand_on_rest(self):
        """What came behind the worker's last look."""
        while True:
            try:
                one = self._ended.get_nowait()
            except queue.Empty:
                return
            if isinstance(one, threading.Event):
                one.set()
            elif one is not None:
                self._hand_on(*one)

    def _hand_on(self, span, task):
        try:
            span = with_energy(span, task)
        except Exception:  # a span is not lost for its joules
            log.exception("codegreen: a span has no energy")
        if self._own:  # its tasks are in no file, and there may be many
            with self._session._data:
                for tasks in (self._session._all, self._session._pending):
                    if task in tasks:
                        tasks.remove(task)
        try:
            self._next.on_end(span)
        except Exception:  # it shall have those that follow
            log.exception("codegreen: the next processor failed")


def with_energy(span, task):
    """A copy of a span with the attributes of its energy."""
    found = {"energy_kind": task.energy_kind}
    for name in ("energy_j", "energy_lo_j", "energy_hi_j",
                 "program_energy_j", "program_energy_lo_j", "program_energy_hi_j"):
        joules = getattr(task, name)
        if joules == joules:  # it is known
            found[name] = joules
    attributes = dict(span.attributes or {})
    attributes.update((PREFIX + name, value) for name, value in found.items())
    bounded = BoundedAttributes(attributes=attributes, immutable=True)
    bounded.dropped = span.dropped_attributes
    return ReadableSpan(
        name=span.name, context=span.context, parent=span.parent, resource=span.resource, attributes=bounded,
        events=span._events, links=span._links, kind=span.kind, status=span.status, start_time=span.start_time,
        end_time=span.end_time, instrumentation_scope=span.instrumentation_scope)
