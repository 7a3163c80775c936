"""Counters of a host that grow unevenly within a task."""

from __future__ import annotations

from collections.abc import Mapping

from pacenote.stats.cpu_history import Counters

_IN_FIRST_HALF = {"cpu.idle": 0.0, "cpu.iowait": 0.0, "cpu.steal": 1.0, "process": 7 / 9}


def busy_first(counters: Mapping[str, float], seconds: float) -> Counters:
    """Returns the history of counters with keys as `NAME` or `NAME[LABEL=VALUE]`, which grow by these values
    within a task: the CPUs are idle in its second half only.
    """
    history = {}
    for key, value in counters.items():
        name, _, label = key.rstrip("]").partition("[")
        part = _IN_FIRST_HALF.get(name, _IN_FIRST_HALF.get(name.partition(".")[0]))
        if part is not None:
            half, end_ns = part * value, int(seconds * 1e9)
            history[name, label.partition("=")[2]] = ((0, 0.0), (end_ns // 2, half), (end_ns, value))
    return history
