"""Figures of the limits of control groups that apply to the nodes on a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pacenote.model.telemetry_cuts import CounterCut, GaugeCut, TaskTelemetry, TaskTimes

LEAST_COVERAGE = 0.5
"""Part of a task of which a counter must be known, because a process may have ended in it, and part of the
time between samples that the task must fill.
"""


def well_covered(telemetry: TaskTelemetry, task: TaskTimes) -> TaskTelemetry:
    """Returns the gauges, and the counters that are known of a large part of a task and hardly from before or
    after it.
    """

    def is_covered(cut: CounterCut | GaugeCut) -> bool:
        if isinstance(cut, GaugeCut):
            return True
        return cut.covered_s >= LEAST_COVERAGE * max(task.duration_s, cut.span_s)

    covered = {
        name: tuple((labels, cut) for labels, cut in cuts if is_covered(cut))
        for name, cuts in telemetry.cuts.items()
    }
    return TaskTelemetry(covered)


def with_groups(telemetry: TaskTelemetry, readers: Mapping[str, str]) -> TaskTelemetry:
    """Returns telemetry in which each process has the series of its control groups: the sampler reads the
    groups of several processes once. `readers` has, by the name of a process, that of the one whose series
    are those of its group, too.
    """
    if not readers:
        return telemetry
    members = dict[str, list[str]]()
    for process, reader in readers.items():
        members.setdefault(reader, []).append(process)
    cuts = dict(telemetry.cuts)
    for name in (name for name in telemetry.cuts if name.startswith("cgroup.")):
        shared = (
            ({**labels, "process": process}, cut)
            for labels, cut in telemetry.cuts[name]
            for process in members.get(labels.get("process", ""), ())
        )
        cuts[name] = (*telemetry.cuts[name], *shared)
    return TaskTelemetry(cuts)


def outer_throttling(telemetry: TaskTelemetry, nodes: Sequence[str], cores: int = 0) -> dict[str, float]:
    """Returns the figures of the quotas of groups around those of the nodes, which stop the nodes too: those
    of the group that was stopped longest. The kernel adds up the times of all CPUs; the nodes may use this
    number of them, or all if it is 0.
    """
    figures = dict[str, float]()
    online = telemetry.gauge("cpu.count")
    usable = cores or (online.mean if online is not None else 0)
    for node in nodes:
        for labels, periods in telemetry.counters("cgroup.cpu_periods", process=node):
            stopped = telemetry.counter("cgroup.throttled_periods", **labels)
            time_ms = telemetry.counter("cgroup.throttled_time", **labels)
            if "group" not in labels or stopped is None or periods.increase <= 0:
                continue
            _raise(figures, "cpu.throttled_periods_share", stopped.increase / periods.increase)
            if time_ms is not None and time_ms.per_s is not None and usable > 0:
                _raise(figures, "cpu.throttled_share", time_ms.per_s / 1e3 / usable)
    return figures


def limited_memory(telemetry: TaskTelemetry, nodes: Sequence[str], total_bytes: float) -> dict[str, float]:
    """Returns the figures of the node whose limit of memory leaves the least, if one has a limit below the
    memory of the host: the page cache of its group, and what the group can still use if it gives that up.
    """
    figures = dict[str, float]()
    for node in nodes:
        limits = [(cut.min, labels) for labels, cut in telemetry.gauges("cgroup.memory_limit", process=node)]
        limit, labels = min(limits, key=lambda pair: pair[0], default=(total_bytes, dict[str, str]()))
        anonymous, cache = (_gauge(telemetry, name, labels) for name in ("anonymous", "page_cache"))
        if limit >= total_bytes or limit <= 0 or anonymous is None or cache is None:
            continue
        share = max(0.0, 1 - anonymous.max / limit)
        if share <= figures.get("memory.available_share", 1.0):
            figures = {"memory.available_share": share, "memory.page_cache_bytes": cache.mean}
    return figures


def _gauge(telemetry: TaskTelemetry, name: str, labels: Mapping[str, str]) -> GaugeCut | None:
    return telemetry.gauge(f"cgroup.{name}", **labels)


def _raise(figures: dict[str, float], name: str, value: float) -> None:
    figures[name] = max(value, figures.get(name, 0.0))
