"""What the engine did during the race, in phrases. Values that are 0 or unknown are omitted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pacenote.figures.catalogue import ENGINE, METRICS
from pacenote.figures.metric import Metric
from pacenote.figures.of_race import origin_value
from pacenote.model.headline import main_indexing
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import GcPause, RaceObservations
from pacenote.model.system_metrics import SystemMetrics
from pacenote.report.machine_use import (
    GAUGES,
    HOST,
    NODES,
    PartValues,
    added,
    cpu_use,
    data_devices,
    selected_lines,
)
from pacenote.report.screen.screen import Paragraph
from pacenote.units import format_bytes, format_count, format_seconds

_SHOWN_SHARE = 0.005
"""Share of the CPUs or of the time of a disk from which it is shown: less is 0 % or next to it."""

_SHOWN_BYTES = 0.05 * 1024**2
"""Bytes per second of a disk from which they are shown."""

_SEVERAL = 2
"""Number of nodes, or of merges at the same time, from which it is said that there are several."""


def engine_paragraph(record: RaceRecord, observed: RaceObservations | None = None) -> Paragraph:
    """Returns the engine's work, its garbage collections, the size of its data, and what it used of the
    machine, as far as that was observed.
    """
    system = record.system
    groups = [tuple(_phrases(system, "work")), tuple(_phrases(system, "state"))]
    if observed is not None:
        groups += [
            tuple(_cpus(record, observed)),
            tuple(_heap(record, observed)),
            tuple(_pauses(observed)),
            tuple(_disks(record, observed)),
            tuple(_merges(observed)),
        ]
    return Paragraph("Engine", tuple(group for group in groups if group))


def _cpus(record: RaceRecord, observed: RaceObservations) -> Iterator[str]:
    """Yields what the nodes on this machine, the driver and other programs used of the CPUs."""
    use = cpu_use(observed.telemetry, record)
    if not (engine := _known(use.engine)):
        return
    of_cpus = _of_cpus(use.cpus, use.driver_cpus)
    yield f"CPU: engine mean {_percent(_mean(engine))}{of_cpus}, peak {_percent(max(engine))}"
    if while_indexing := _during_indexing(record, observed, use.engine):
        yield while_indexing
    driver = _mean(_known(use.driver))
    if driver >= _SHOWN_SHARE:
        of_driver = _of_cpus(use.driver_cpus, use.cpus) if use.driver_cpus != use.cpus else ""
        yield f"driver {_percent(driver)}{of_driver}"
    further = _mean(_known(use.further_engines))
    if further >= _SHOWN_SHARE:
        yield f"nodes of further clusters {_percent(further)}{_of_cpus(use.cpus, use.driver_cpus)}"
    others = _mean(_known(use.others))
    if others >= _SHOWN_SHARE:
        at_least = "at least " if use.others_are_bound else ""
        of_engine = " of the engine's CPUs" if use.driver_cpus != use.cpus else ""
        yield f"other programs {at_least}{_percent(others)}{of_engine}"


def _of_cpus(cpus: Collection[int], beside: Collection[int]) -> str:
    """Returns of which CPUs a share is: all need not be said unless the share `beside` is of others."""
    if cpus:
        return f" of {format_count(len(cpus), 'CPU')}"
    return " of all CPUs" if beside else ""


def _during_indexing(record: RaceRecord, observed: RaceObservations, engine: PartValues) -> str:
    """Returns the share of the CPUs that the engine used while most documents were indexed, if the race had
    other tasks as well.
    """
    task = main_indexing(record.tasks)
    if task is None or observed.timeline is None:
        return ""
    length_s = observed.timeline.length_s
    first, end = int(task.started_s // length_s), int((task.started_s + task.duration_s) // length_s)
    during = _known(engine[first:end])
    if not during or end - first >= len(engine):
        return ""
    return f"{_percent(_mean(during))} during {single_line(task.task)}"


def _heap(record: RaceRecord, observed: RaceObservations) -> Iterator[str]:
    """Yields the most heap that a node used, by the share of its own."""
    limits = {str(node.get("name")): node.get("heap_max_bytes") for node in record.cluster.nodes}
    peaks = {
        line.labels.get("node", ""): max(known)
        for line in selected_lines(observed.telemetry, GAUGES, "jvm.mem.heap_used")
        if (known := _known(line.max))
    }
    if not peaks:
        return
    most = max(peaks, key=lambda node: peaks[node] / (_limit(limits.get(node)) or 1.0))
    limit = _limit(limits.get(most))
    of_limit = f" of {format_bytes(limit)} ({_percent(peaks[most] / limit)})" if limit else ""
    where = f" on {single_line(most)}" if len(peaks) >= _SEVERAL else ""
    yield f"heap: peak {format_bytes(peaks[most])}{of_limit}{where}"


def _limit(value: object) -> float | None:
    return float(value) if isinstance(value, int) and value > 0 else None


def _pauses(observed: RaceObservations) -> Iterator[str]:
    """Yields the pauses of the GC logs, which the counters of the nodes have only rounded and without the
    longest. Of several nodes, it is the one that paused longest: pauses of nodes may be simultaneous.
    """
    by_node: dict[str, list[GcPause]] = {}
    for pause in observed.pauses:
        by_node.setdefault(pause.node, []).append(pause)
    if by_node:
        node, own = max(by_node.items(), key=lambda item: sum(pause.ms for pause in item[1]))
        total_s = sum(pause.ms for pause in own) / 1000
        most = f" on {node}" if node else ""
        yield f"GC: {format_count(len(own), 'pause')} of {format_seconds(total_s)} in all{most}"
        longest = max(observed.pauses, key=lambda pause: pause.ms)
        at = f" on {longest.node}" if longest.node != node else ""
        yield f"longest {format_seconds(longest.ms / 1000)}{at}"


def _disks(record: RaceRecord, observed: RaceObservations) -> Iterator[str]:
    """Yields the traffic of the disks behind the data of the nodes."""
    devices = data_devices(record)

    def of_data(labels: Mapping[str, str]) -> bool:
        return labels.get("device") in devices

    phrases = []
    for verb, name in (("written", "write"), ("read", "read")):
        lines = selected_lines(observed.telemetry, HOST, f"disk.{name}_bytes", of_data)
        rates = _known(added([line.mean for line in lines]))
        if rates and _mean(rates) >= _SHOWN_BYTES:
            most = max(rates)
            phrases.append(f"{format_bytes(_mean(rates))}/s {verb} (at most {format_bytes(most)}/s)")
    # The counter has milliseconds per second.
    busy = [
        _mean(known) / 1000
        for line in selected_lines(observed.telemetry, HOST, "disk.busy_time", of_data)
        if (known := _known(line.mean))
    ]
    if busy and max(busy) >= _SHOWN_SHARE:
        phrases.append(f"busy for {_percent(max(busy))} of the time")
    if phrases:
        yield f"disk: {phrases[0]}"
        yield from phrases[1:]


def _merges(observed: RaceObservations) -> Iterator[str]:
    """Yields the most merges that ran on a node at the same time, if there were several. Different nodes had
    most at different moments, so these are not added up.
    """
    peaks = {
        line.labels.get("node", ""): max(known)
        for line in selected_lines(observed.telemetry, NODES, "indices.merges.current")
        if (known := _known(line.max))
    }
    if not peaks:
        return
    most = max(peaks, key=lambda node: peaks[node])
    if (running := round(peaks[most])) >= _SEVERAL:
        where = f" on {single_line(most)}" if len(peaks) >= _SEVERAL else ""
        yield f"merges: up to {running} at the same time{where}"


def _known(values: PartValues) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _phrases(system: SystemMetrics, line: str) -> Iterator[str]:
    """Yields the phrases of a line: times, each with how often it was done if that is known, sizes, and
    numbers of things.
    """
    phrases = [(metric.phrase, metric) for metric in ENGINE if metric.phrase and metric.phrase.line == line]
    for phrase, metric in sorted(phrases, key=lambda each: each[0].place):
        value = _number(metric, system)
        times = _number(METRICS[phrase.counted_by], system) if phrase.counted_by else 0
        if metric.unit == "ms" and (value or times):
            counted = f" ({format_count(round(times), 'time')})" if times else ""
            yield f"{phrase.name} {format_seconds(value / 1000)}{counted}"
        elif metric.unit == "bytes" and value:
            yield f"{phrase.name} {format_bytes(value)}"
        elif not metric.unit and value:
            yield format_count(round(value), phrase.name)


def _number(metric: Metric, system: SystemMetrics) -> float:
    value = origin_value(metric.origin, system)
    return value if isinstance(value, int | float) else 0
