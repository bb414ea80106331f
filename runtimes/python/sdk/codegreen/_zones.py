"""Zones of powercap: which there are, what they are called, which of them make up
the machine's energy, and whether their units can be right. The rule is cg's own
(runtimes/sdk/spec/cases/powercap.json of cg)."""
import math
import os
import re

from ._energy import Domain
from ._spec import (COUNTER_BITS, IMPLAUSIBLE_W, RAPL_PERIOD_NS, SUSTAINED_W, UNIT15_MODELS, UNIT15_POWER,
                    UNIT61_MODELS, UNIT61_POWER, UNIT_FACTOR, UNIT_LEAST_UJ, UNIT_MOST_UJ)

FOLDER = re.compile("([a-z][a-z0-9-]*)((?::[0-9]+)+)")
DIE = re.compile("(package-[0-9]+)-die-[0-9]+")
MEMORY = re.compile("dram(-[0-9]+)?")
SYSTEM = re.compile("psys(-[0-9]+)?")


class Zone:
    """A folder of powercap. wrap is what its counter wraps at in uJ, 0 where it does not say."""

    def __init__(self, path, name, wrap):
        self.path, self.name, self.wrap = path, name, wrap
        found = FOLDER.fullmatch(os.path.basename(path))
        self.driver, self.numbers = found[1], [int(n) for n in found[2][1:].split(":")]
        self.parent, self.id, self.repeats = None, name, False

    @property
    def kind(self):
        if self.name.startswith("package-"):
            return "cpu_package"
        return "dram" if MEMORY.fullmatch(self.name) else "psys" if SYSTEM.fullmatch(self.name) else ""

    @property
    def die(self):
        """The package of a die, None for another zone."""
        found = DIE.fullmatch(self.id)
        return found and found[1]

    @property
    def unit_uj(self):
        """What its counter counts in, if it has as many bits as RAPL's counters."""
        return self.wrap / (1 << COUNTER_BITS)

    def domain(self):
        unit = self.unit_uj if 0 < self.unit_uj <= 1e6 else 1e6 / (1 << UNIT61_POWER)
        return Domain(self.id, self.kind, in_total=True, source=os.path.join(self.path, "energy_uj"),
                      period_ns=RAPL_PERIOD_NS, step_uj=math.ceil(unit))

    def doubt(self, processor):
        """What is wrong with its unit on a processor (vendor, family, model); "" for nothing."""
        unit, want = self.unit_uj, memory_unit_uj(processor)
        if not self.wrap or self.kind == "psys":  # which counts whole joules on some servers
            return ""
        if self.kind == "dram" and want and not want / UNIT_FACTOR <= unit <= want * UNIT_FACTOR:
            how = "%.1f times too high" % (unit / want) if unit > want else "%.1f times too low" % (want / unit)
            return ("%s: the kernel takes its unit for %.1f uJ, and memory beside this processor counts %.1f uJ: "
                    "its energy is %s" % (self.id, unit, want, how))
        if not UNIT_LEAST_UJ <= unit <= UNIT_MOST_UJ:
            return "%s: max_energy_range_uj means a unit of %.3g uJ, and RAPL counts in %g to %g uJ" % (
                self.id, unit, UNIT_LEAST_UJ, UNIT_MOST_UJ)
        return ""


def memory_unit_uj(processor):
    """The unit of a server's memory counter, 0 where none is fixed."""
    vendor, family, model = processor
    if (vendor, family) != ("GenuineIntel", "6"):
        return 0
    for power, models in (UNIT15_POWER, UNIT15_MODELS), (UNIT61_POWER, UNIT61_MODELS):
        if model in map(str, models):
            return 1e6 / (1 << power)
    return 0


def arranged(zones):
    """The zones in the order of their numbers, with parents and ids; those that make
    up the machine's energy, once each."""
    kept, packages = [], [z.driver for z in zones if z.name.startswith("package-")]
    several = len(packages) > len(set(packages))
    for z in sorted(zones, key=lambda z: (z.driver, z.numbers)):
        for o in kept:
            if (o.driver, o.numbers) == (z.driver, z.numbers[:-1]):
                z.parent = o
        if z.parent is not None:
            if not z.parent.id.startswith("package-"):
                z.id = z.name + "-" + z.parent.id
            elif several:
                z.id = z.name + z.parent.id[len("package"):]
        elif several and z.name == "dram":
            z.id = "dram-0"
        # The same zone through another driver: intel-rapl-mmio:0 reads the package of intel-rapl:0.
        z.repeats = any(o.id == z.id and o.driver != z.driver and not o.repeats for o in kept)
        n = 1
        while not z.repeats and any(o.id == z.id for o in kept):
            z.id, n = "%s-%d" % (z.name, n), n + 1
        kept.append(z)
    kept = [z for z in kept if not z.repeats]
    if not any(z.kind == "cpu_package" for z in kept):
        system = [z for z in kept if z.kind == "psys"]
        if system:
            return system[:1]
    return [z for z in kept if z.kind in ("cpu_package", "dram")]


def more(before, now, wrap, elapsed_ns):
    """uJ between two readings of a counter; None where they are not known: it was
    reset, or may have gone round more than once (runtimes/sdk/spec/cases/unwrap.json of cg)."""
    if wrap and (before >= wrap or now >= wrap) or not wrap and now < before:
        return None
    used = now - before if now >= before else wrap - before + now
    if used > IMPLAUSIBLE_W * 1e-3 * max(0, elapsed_ns):
        return None
    return None if wrap and used + wrap <= SUSTAINED_W * 1e-3 * elapsed_ns else used
