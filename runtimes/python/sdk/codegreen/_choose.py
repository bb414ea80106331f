"""Which source of samples a session has."""
import os

from ._ring import Ring, Run, Sidecar, find_cg
from ._source import Source
from ._spec import SIDECAR_SLOTS


def open_source(interval_ms, buffer, record, warn):
    """The first source of samples that is there; warn is called with a slug
    and a message for what stands in the way."""
    writer, why = "", []
    path = os.environ.get("CG_SAMPLES")
    if path:
        try:
            ring = Ring(path)
            writer = ring.writer
            as_asked = interval_ms is None or abs(interval_ms * 1e6 - ring.interval_ns) < 1
            if not ring.ended() and buffer is None and as_asked:
                return Run(ring)
            ring.close()
        except (OSError, ValueError, KeyError, TypeError):
            pass
    cg = find_cg(writer)
    if cg:
        try:
            return Sidecar(cg, interval_ms, buffer or SIDECAR_SLOTS)
        except (OSError, ValueError, KeyError, TypeError) as e:
            why.append(str(e))
    else:
        why.append("cg is not in PATH, and CODEGREEN_CG does not name it")
    from ._powercap import Powercap  # few programs need it
    before = len(why)
    source = Powercap.open(interval_ms, record, why)
    if source:
        if len(why) > before:
            warn("sensor-failed", "the total is without " + "; ".join(why[before:]))
        if source.doubts:
            warn("sensor-suspect", "energies may be wrong: " + "; ".join(source.doubts))
        return source
    warn("no-backend", "no energy can be measured here: " + "; ".join(why))
    return Source()
