"""What the parameters of a session may be."""
from ._spec import (BUFFER_LEAST, BUFFER_MOST, FORMATS, GAUGE_LEAST_NS, GAUGE_MOST_NS, INTERVAL_LEAST_NS,
                    INTERVAL_MOST_NS)


def check(output_format, sampling_mode, sample_interval_ms, buffer_samples):
    """ValueError for what means nothing."""
    if output_format not in FORMATS:
        raise ValueError("output_format %r: use auto, json, csv or none" % (output_format,))
    if sampling_mode != "fixed":
        raise ValueError("sampling_mode %r: only fixed is there; adaptive is reserved" % (sampling_mode,))
    if sample_interval_ms is not None and not INTERVAL_LEAST_NS <= sample_interval_ms * 1e6 <= INTERVAL_MOST_NS:
        raise ValueError("sample_interval_ms %r: use 0.1 to 60000" % (sample_interval_ms,))
    if buffer_samples is not None and not BUFFER_LEAST <= buffer_samples <= BUFFER_MOST:
        raise ValueError("buffer_samples %r: use 16 to 1048576" % (buffer_samples,))


def metrics(names, interval_ms):
    """The gauges that a program named, as a list; ValueError."""
    if names is True:
        names = ["all"]
    names = [names] if isinstance(names, str) else list(names or ())
    for name in names:
        if not isinstance(name, str) or not name or "," in name:
            raise ValueError("gauges %r: use names of metrics of cg track, or \"all\"" % (name,))
    if not GAUGE_LEAST_NS <= interval_ms * 1e6 <= GAUGE_MOST_NS:
        raise ValueError("gauge_interval_ms %r: use 100 to 60000" % (interval_ms,))
    return names
