"""What a session asks of a source of samples. This one has none."""
from ._spec import RING_SLOTS


class Source:
    """Where a session has its samples from: via says how."""
    via, lost, cg_version, cpu_model, fill, version = "none", 0, None, "", 0.0, None
    interval_ns, slots = 0, RING_SLOTS
    domains, topology, support = [], None, None
    cg = ""
    division = None  # where the samples tell of a program
    gpus = {}  # by domain, what cg tells of them
    last = False  # whether close takes a last sample, which can be read after it

    def read(self, samples):
        pass

    def edge(self, samples):
        """Called at the begin and the end of a task."""

    def ended(self):
        return False

    def close(self, patience=5):
        """Ends what measures, and waits at most so many seconds for it."""

    def forget(self):
        """Called in a forked child."""
