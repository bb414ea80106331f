"""Streams of events in the form of HESPAS' event_counters, version 0.0.1.

    stream = CounterEventStream(metadata={"tool": "mine"})
    stream.add_event(event_name="enter:train", timestamp=time.monotonic_ns(), timeunit="ns")
    stream.to_json("run.hespas.json")

cg report --from hespas shows such a file. Names and signatures are those of HESPAS; the
files are the same to the byte.
"""
import json
import math
import warnings

CLASS_VERSION = "0.0.1"


class Serialisable:
    """What both classes have in common: their fields as a dict, and as JSON."""

    _fields = ()

    def to_dict(self):
        """The fields, by their names, with copies of what is in them."""
        return {name: _plain(getattr(self, name)) for name in self._fields}

    @classmethod
    def from_dict(cls, input):
        """An object of the fields in a dict. ValueError where one is missing or input is no dict,
        TypeError where there is one more."""
        if not isinstance(input, dict):
            raise ValueError("%s.from_dict wants a dict: %r" % (cls.__name__, input))
        for name in cls._fields:
            if name not in input:
                raise ValueError("Field '%s' for %s is missing" % (name, cls.__name__))
        return cls(**input)

    def to_json_str(self):
        """The object as JSON text. ValueError for a number that JSON does not have."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json_str(cls, input):
        return cls.from_dict(json.loads(input))

    def to_json(self, file_path):
        """Writes the object to a file."""
        with open(file_path, "w", encoding="utf-8") as f:
            f.write(self.to_json_str())

    @classmethod
    def from_json(cls, file_path):
        """Reads what to_json, HESPAS or cg report -f hespas wrote."""
        with open(file_path, encoding="utf-8") as f:
            return cls.from_dict(json.load(f))

    def __eq__(self, other):
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, ", ".join(["%s=%r" % (n, getattr(self, n)) for n in self._fields]))


class CounterEvent(Serialisable):
    """An event: its name, when it was, the unit of that, and anything else in metadata.

    timestamp is a number, or a string that is one. timeunit is such as "ns" or "cycles"; "" says that
    timestamps are only in an order. A string becomes a float, and a float without a fraction an int,
    as HESPAS reads it.
    """

    _fields = ("event_name", "timestamp", "timeunit", "metadata")

    def __init__(self, event_name, timestamp, timeunit="", metadata=None):
        if not isinstance(event_name, str) or not isinstance(timeunit, str):
            raise ValueError("event_name and timeunit are strings: %r, %r" % (event_name, timeunit))
        if metadata is None:
            metadata = {}
        if not isinstance(metadata, dict):
            raise ValueError("metadata is a dict: %r" % (metadata,))
        self.event_name, self.timestamp = event_name, _number(timestamp)
        self.timeunit, self.metadata = timeunit, metadata


class CounterEventStream(Serialisable):
    """Events in the order in which they were added."""

    _fields = ("version", "metadata", "events")
    class_version = CLASS_VERSION

    def __init__(self, version=CLASS_VERSION, metadata=None, events=None):
        known = _version(CLASS_VERSION)
        if _version(version) > known:
            warnings.warn("the stream is of version %s, newer than %s" % (version, CLASS_VERSION), stacklevel=2)
        self.version = version
        self.metadata = {} if metadata is None else metadata
        if not isinstance(self.metadata, dict):
            raise ValueError("metadata is a dict: %r" % (metadata,))
        self.events = []
        for e in [] if events is None else events:
            self.add_event(e)

    def add_event(self, new_event=None, **fields):
        """Adds a CounterEvent, a dict of all its fields, or the event of some fields: event_name
        and timestamp at least."""
        if new_event is None:
            new_event = CounterEvent(**fields)
        elif fields:
            raise TypeError("an event, or its fields")
        elif isinstance(new_event, dict):
            new_event = CounterEvent.from_dict(new_event)
        elif not isinstance(new_event, CounterEvent):
            raise TypeError("no CounterEvent: %r" % (new_event,))
        self.events.append(new_event)

    def to_json(self, file_path):
        """Writes the stream to a file, event by event."""
        with open(file_path, "w", encoding="utf-8") as f:
            f.write('{"version": %s, "metadata": %s, "events": [' % (
                json.dumps(self.version), json.dumps(self.metadata, allow_nan=False)))
            for i, e in enumerate(self.events):
                f.write((", " if i else "") + e.to_json_str())
            f.write("]}")


def _plain(value):
    if isinstance(value, Serialisable):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def _number(value):
    if isinstance(value, str):
        value = float(value)
    if not isinstance(value, (int, float)):
        raise ValueError("timestamp is a number, or a string that is one: %r" % (value,))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("timestamp is no finite number: %r" % (value,))
    return int(value) if isinstance(value, float) and value == int(value) else value


def _version(text):
    parts = text.split(".") if isinstance(text, str) else ()
    if len(parts) != 3 or not all([p.isdigit() for p in parts]):
        raise ValueError("version is three numbers: %r" % (text,))
    return tuple([int(p) for p in parts])
