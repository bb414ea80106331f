"""How evenly a task drew power, from its samples."""
import os

from ._spec import (FLAG_FAILED, NOISE_CV_PERCENT, NOISE_DROP_PART, NOISE_LEAST_POWERS, NOISE_QUALITIES,
                    NOISE_QUALITY_ENDS_PERCENT, NOISE_SLOW_TIMES, NOISE_WINDOW_PERIODS, NOISE_ZERO_PART)


def median(values):
    values = sorted(values)
    n = len(values) // 2
    return values[n] if len(values) % 2 else (values[n - 1] + values[n]) / 2


class Limits:
    """The variation in percent and the part of samples missing at which a task is
    warned of, and the upper ends of all qualities but the last in percent."""

    def __init__(self, environ=os.environ):
        def number(name, otherwise):
            try:
                return float(environ[name])
            except (KeyError, ValueError):
                return otherwise
        try:
            ends = [float(x) for x in environ["CODEGREEN_NOISE_QUALITY"].split(",")]
        except (KeyError, ValueError):
            ends = []
        if len(ends) != len(NOISE_QUALITIES) - 1 or sorted(ends) != ends:
            ends = NOISE_QUALITY_ENDS_PERCENT
        self.cv = number("CODEGREEN_NOISE_CV_PERCENT", NOISE_CV_PERCENT)
        self.drop = number("CODEGREEN_NOISE_DROP_RATIO", NOISE_DROP_PART)
        self.ends = ends


class Stretch:
    """What is known of a task: times of its samples in ns, their flags, the
    machine's cumulative energy at each in uJ; how long the task took, the interval
    that was asked for, and the period of the slowest counter in ns, 0 where it is
    not known. Where some counters are slow, fast are the energies of the others, and
    the period of their slowest."""
    __slots__ = "times", "flags", "energies", "lasted", "interval", "period", "fast"

    def __init__(self, samples, lasted, interval, period, fast=None):
        self.times, self.flags, self.energies = samples
        self.lasted, self.interval, self.period, self.fast = lasted, interval, period, fast

    def told(self):
        """The powers, and the mean of the slow counters' in W where these are too slow for
        the rest: then the powers are those of the others."""
        powers = list(self.powers())
        if len(powers) >= NOISE_LEAST_POWERS or not self.fast:
            return powers, 0.0
        energies, period = self.fast
        rest = [e - f for e, f in zip(self.energies, energies)]
        whole = [i for i, flag in enumerate(self.flags) if not flag & FLAG_FAILED]
        over = self.times[whole[-1]] - self.times[whole[0]] if whole else 0
        if over <= 0:
            return powers, 0.0
        others = Stretch((self.times, self.flags, energies), self.lasted, self.interval, period)
        return list(others.powers()), (rest[whole[-1]] - rest[whole[0]]) * 1e3 / over

    def powers(self):
        """(W, ns) of neighbouring windows. A sample whose reading failed ends none."""
        window = NOISE_WINDOW_PERIODS * (self.period or self.interval)
        first = None
        for t, flag, energy in zip(self.times, self.flags, self.energies):
            if flag & FLAG_FAILED:
                continue
            if first is None:
                first = t, energy
            elif t > first[0] and t - first[0] >= window:
                yield (energy - first[1]) * 1e3 / (t - first[0]), t - first[0]
                first = t, energy


def stretch_of(samples, part, lasted, interval):
    """The Stretch of a task that has a part (i, j) of all samples (_energy.Samples)."""
    i, j = part
    tops = [d for d, domain in enumerate(samples.domains) if domain.in_total]

    def of(some):
        energies = [sum(e) for e in zip(*(samples.energies[d][i:j].tolist() for d in some))]
        return energies, max((samples.domains[d].period_ns for d in some), default=0)
    energies, period = of(tops)
    least = min((samples.domains[d].period_ns for d in tops if samples.domains[d].period_ns), default=0)
    fast = [d for d in tops if samples.domains[d].period_ns <= NOISE_SLOW_TIMES * least]
    return Stretch((samples.times[i:j].tolist(), samples.flags[i:j].tolist(), energies), lasted, interval, period,
                   of(fast) if len(fast) < len(tops) else None)


def noise_of(stretch, limits):
    """The noise block of a task, by the rule of runtimes/sdk/spec/cases/noise.json of cg."""
    times = stretch.times
    n = len(times)
    interval, method = stretch.interval, "configured"
    if n >= 3:
        interval, method = median(b - a for a, b in zip(times, times[1:])), "observed_median"
    expected = max(n, int(stretch.lasted / interval + 1e-6)) if interval > 0 else n  # whole intervals
    out = {
        "samples_captured": n,
        "samples_expected": expected,
        "samples_expected_method": method,
        "drop_ratio": 1 - n / expected if expected else 0.0,
        "power_mean_w": None, "power_std_w": None, "power_cv_percent": None,
        "power_window_ms": None,
        "sample_interval_ms": stretch.interval / 1e6,
        "quality": None,
    }
    powers, beside = stretch.told()
    lasted = sum(t for _, t in powers)
    mean = sum(p * t for p, t in powers) / lasted if lasted else 0
    if len(powers) < NOISE_LEAST_POWERS or not mean:
        return out
    variance = sum((p - mean) ** 2 * t for p, t in powers) / lasted * len(powers) / (len(powers) - 1)
    mean += beside
    std = variance ** 0.5 if variance ** 0.5 >= NOISE_ZERO_PART * mean else 0.0
    cv = 100 * std / mean
    out["power_mean_w"], out["power_std_w"], out["power_cv_percent"] = mean, std, cv
    out["power_window_ms"] = lasted / len(powers) / 1e6
    out["quality"] = NOISE_QUALITIES[sum(cv >= end for end in limits.ends)]
    return out


def reasons_of(noise, limits):
    """Why a task is warned of; empty for one that is quiet and whole."""
    reasons = []
    cv, drop = noise["power_cv_percent"], noise["drop_ratio"]
    if cv is not None and cv >= limits.cv:
        reasons.append("within_task_power_cv_above_%gpct" % limits.cv)
    if drop > 0 and drop >= limits.drop:
        reasons.append("drop_ratio_above_%gpct" % (100 * limits.drop))
    return reasons


def warning_of(task, depth, noise):
    """The record of totals.noise_warnings, None for a task that is quiet and whole."""
    reasons = reasons_of(noise, Limits())
    if not reasons:
        return None
    cv = noise["power_cv_percent"]
    return {"task": task, "depth": depth, "within_task_power_cv_percent": cv, "drop_ratio": noise["drop_ratio"],
            "quality": noise["quality"], "reasons": reasons}


def rounded(power):
    """A power with six decimals; halves go to the even one."""
    return round(power * 1e6) / 1e6
