"""How evenly a task drew power, from its samples."""
import os

from ._spec import (NOISE_CV_PERCENT, NOISE_DROP_PART, NOISE_LEAST_POWERS, NOISE_QUALITIES, NOISE_QUALITY_ENDS_PERCENT,
                    NOISE_WINDOW_PERIODS)


def median(values):
    values = sorted(values)
    n = len(values) // 2
    return values[n] if len(values) % 2 else (values[n - 1] + values[n]) / 2


def thresholds():
    """(CV in percent, part of samples missing) at which a task is warned of, and
    the upper ends of excellent, good and moderate in percent."""
    def number(name, default):
        try:
            return float(os.environ[name])
        except (KeyError, ValueError):
            return default
    try:
        ends = [float(x) for x in os.environ["CODEGREEN_NOISE_QUALITY"].split(",")]
    except (KeyError, ValueError):
        ends = []
    if len(ends) != 3 or sorted(ends) != ends:
        ends = NOISE_QUALITY_ENDS_PERCENT
    cv = number("CODEGREEN_NOISE_CV_PERCENT", NOISE_CV_PERCENT)
    return cv, number("CODEGREEN_NOISE_DROP_RATIO", NOISE_DROP_PART), ends


def noise_of(times, energies, duration_ns, interval_ns, period_ns):
    """The noise block of a task: times of its samples in ns, the machine's
    cumulative energy at each in uJ.

    Powers are means over NOISE_WINDOW_PERIODS periods of the counters: one that
    is read as often as it is updated shows none of its updates now and two then,
    and that is not the program's noise.
    """
    n = len(times)
    interval, method = interval_ns, "configured"
    if n >= 3:
        interval, method = median(b - a for a, b in zip(times, times[1:])), "observed_median"
    expected = int(duration_ns / interval + 1e-6) if interval > 0 else n  # whole intervals
    window = NOISE_WINDOW_PERIODS * max(period_ns, interval_ns)
    out = {
        "samples_captured": n,
        "samples_expected": expected,
        "samples_expected_method": method,
        "drop_ratio": round(max(0.0, 1 - n / expected), 4) if expected else 0.0,
        "power_mean_w": None, "power_std_w": None, "power_cv_percent": None,
        "power_window_ms": window / 1e6,
        "sample_interval_ms": interval_ns / 1e6,
        "quality": None,
    }
    powers, first = [], 0
    for i in range(n):
        if times[i] - times[first] >= window * 0.99:
            powers.append((energies[i] - energies[first]) * 1e3 / (times[i] - times[first]))
            first = i
    if len(powers) >= NOISE_LEAST_POWERS:
        mean = sum(powers) / len(powers)
        std = (sum((p - mean) ** 2 for p in powers) / (len(powers) - 1)) ** 0.5
        out["power_mean_w"], out["power_std_w"] = round(mean, 6), round(std, 6)
        if mean > 0:
            cv = 100 * std / mean
            out["power_cv_percent"] = round(cv, 4)
            out["quality"] = NOISE_QUALITIES[sum(cv >= end for end in thresholds()[2])]
    return out


def warning_of(task, depth, noise):
    """The record of totals.noise_warnings, None for a task that is quiet and whole."""
    most_cv, most_drop, _ = thresholds()
    reasons = []
    cv = noise["power_cv_percent"]
    if cv is not None and cv >= most_cv:
        reasons.append("within_task_power_cv_above_%gpct" % most_cv)
    if noise["drop_ratio"] >= most_drop:
        reasons.append("drop_ratio_above_%gpct" % (100 * most_drop))
    if not reasons:
        return None
    return {"task": task, "depth": depth, "within_task_power_cv_percent": cv, "drop_ratio": noise["drop_ratio"],
            "quality": noise["quality"], "reasons": reasons}
