"""The machine and the engine over time: garbage collection, heap, CPUs, disk and merges, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import RaceObservations, TelemetryLine
from pacenote.report.page.numbers import clock, plain, plain_time
from pacenote.report.page.page import PageColumn, PageTable, RowGroup
from pacenote.report.page.time_charts import Chart, ChartLine, LineStyle
from pacenote.units import format_count, format_seconds, format_share

HOST, NODES, GAUGES = "host", "node-counters", "node-gauges"
"""Sources of the series."""

_CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_IDLE = ("idle", "iowait")
_DRIVER = "driver"
_MIB = 1024.0**2
_TABLE = "data-machine"

WANTED = (
    *((HOST, f"cpu.{state}") for state in _CPU_STATES),
    (HOST, "process.user"),
    (HOST, "process.system"),
    (HOST, "disk.read_bytes"),
    (HOST, "disk.write_bytes"),
    (HOST, "disk.busy_time"),
    (GAUGES, "jvm.mem.heap_used"),
    (NODES, "jvm.gc.collectors."),
    (NODES, "indices.merges.current"),
)
"""Sources and names of the series that the page shows."""

_Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of the table and the line that draws it."""

    heading: str
    label: str
    values: _Values
    style: LineStyle = "line"


@dataclass(frozen=True, slots=True)
class _Group:
    """The columns of one chart."""

    id: str
    title: str
    unit: str
    summary: str
    columns: tuple[_Shown, ...]


def machine_charts(
    record: RaceRecord, observed: RaceObservations, parts: int
) -> tuple[PageTable, tuple[Chart, ...]] | None:
    """Returns the table and its charts, or None if nothing was sampled."""
    timeline = observed.timeline
    if timeline is None:
        return None
    sampled = _Sampled(record, observed, parts, timeline.length_s)
    groups = [group for group in sampled.groups() if group.columns]
    shown = [column for group in groups for column in group.columns]
    if not shown:
        return None
    rows = tuple(
        (plain_time(number * timeline.length_s), *(plain(column.values[number]) for column in shown))
        for number in range(parts)
    )
    columns = (PageColumn("Time (s)"), *(PageColumn(column.heading) for column in shown))
    caption = f"Machine and engine, in parts of {format_seconds(timeline.length_s)}"
    table = PageTable(_TABLE, caption, columns, (RowGroup("", rows),), is_folded=True)
    charts, first = [], 1
    for group in groups:
        lines = tuple(
            ChartLine(column.label, first + number, column.style)
            for number, column in enumerate(group.columns)
        )
        first += len(group.columns)
        charts.append(Chart(group.id, group.title, group.summary, _TABLE, group.unit, lines))
    return table, tuple(charts)


class _Sampled:
    """The values of a race in its parts."""

    def __init__(self, record: RaceRecord, observed: RaceObservations, parts: int, length_s: int) -> None:
        self._observed = observed
        self._parts = parts
        self._length_s = length_s
        self._devices = _data_devices(record)

    def groups(self) -> Iterator[_Group]:
        yield self._collections()
        yield self._heap()
        yield self._cpus()
        yield self._disks()
        yield self._merges()

    def _lines(
        self, source: str, name: str, is_wanted: Callable[[Mapping[str, str]], bool] = lambda _: True
    ) -> list[TelemetryLine]:
        return [
            line
            for line in self._observed.telemetry
            if line.source == source and line.name == name and is_wanted(line.labels)
        ]

    def _collections(self) -> _Group:
        title = "Garbage collection pauses"
        if self._observed.has_gc_log:
            total, longest = [0.0] * self._parts, [0.0] * self._parts
            for pause in self._observed.pauses:
                number = int(pause.at_s // self._length_s)
                if 0 <= number < self._parts:
                    total[number] += pause.ms / self._length_s
                    longest[number] = max(longest[number], pause.ms)
            of_log = (
                _Shown("GC pauses (ms/s)", "per second", total, "bar"),
                _Shown("Longest pause (ms)", "longest", longest, "faint"),
            )
            return _Group("gc", title, "ms", self._pause_summary(), of_log)
        times = [
            line.mean
            for line in self._observed.telemetry
            if line.source == NODES and line.name.endswith(".collection_time")
        ]
        summary = "Time of collections as the nodes report it; there is no GC log."
        columns = (_Shown("GC (ms/s)", "per second", _sum(times), "bar"),) if times else ()
        return _Group("gc", "Garbage collection", "ms/s", summary, columns)

    def _pause_summary(self) -> str:
        end_s = self._parts * self._length_s
        within = [pause for pause in self._observed.pauses if 0 <= pause.at_s < end_s]
        if not within:
            return "No pauses."
        longest = max(within, key=lambda pause: pause.ms)
        total_s = sum(pause.ms for pause in within) / 1000
        return (
            f"{format_count(len(within), 'pause')}, {format_seconds(total_s)} in total; the longest took "
            f"{format_seconds(longest.ms / 1000)}, at {clock(longest.at_s)} ({single_line(longest.kind)})."
        )

    def _heap(self) -> _Group:
        used = _sum([line.max for line in self._lines(GAUGES, "jvm.mem.heap_used")])
        columns = (_Shown("Heap used (MiB)", "used", _scaled(used, 1 / _MIB)),) if used else ()
        return _Group("heap", "Heap, MiB", "MiB", "Largest use of all nodes together in each part.", columns)

    def _cpus(self) -> _Group:
        states = {
            state: self._lines(HOST, f"cpu.{state}", lambda labels: not labels) for state in _CPU_STATES
        }
        found = {state: lines[0].mean for state, lines in states.items() if lines}
        total = _sum(found.values())
        if not total:
            return _Group("cpu", "CPU, %", "%", "", ())
        idle = _sum([found[state] for state in _IDLE if state in found])
        busy = [
            100 * (1 - free / all_) if free is not None and all_ else None
            for free, all_ in zip(idle, total, strict=True)
        ]
        columns = [_Shown("All CPUs busy (%)", "all", busy, "faint")]
        processes: tuple[tuple[str, str, LineStyle, Callable[[Mapping[str, str]], bool]], ...] = (
            ("Engine (%)", "engine", "line", lambda labels: labels.get("process") != _DRIVER),
            ("Driver (%)", "driver", "dashed", lambda labels: labels.get("process") == _DRIVER),
        )
        for heading, label, style, is_wanted in processes:
            used = _sum([
                line.mean
                for name in ("process.user", "process.system")
                for line in self._lines(HOST, name, is_wanted)
            ])
            if used:
                share = [
                    None if one is None or not all_ else 100 * one / all_
                    for one, all_ in zip(used, total, strict=True)
                ]
                columns.append(_Shown(heading, label, share, style))
        known = [each for each in busy if each is not None]
        summary = "The CPUs of the driver's host"
        if known:
            summary += f" were busy for {format_share(sum(known) / len(known) / 100)} of the time."
        return _Group("cpu", "CPU, %", "%", summary, tuple(columns))

    def _disks(self) -> _Group:
        def of_data(labels: Mapping[str, str]) -> bool:
            return labels.get("device") in self._devices

        columns = []
        directions: tuple[tuple[str, str, LineStyle], ...] = (
            ("written", "write", "line"),
            ("read", "read", "dashed"),
        )
        for label, name, style in directions:
            values = _sum([line.mean for line in self._lines(HOST, f"disk.{name}_bytes", of_data)])
            if values:
                heading = f"{label.capitalize()} (MiB/s)"
                columns.append(_Shown(heading, label, _scaled(values, 1 / _MIB), style))
        names = single_line(", ".join(sorted(self._devices)))
        return _Group("disk", "Disk, MiB/s", "MiB/s", f"Devices behind the data: {names}.", tuple(columns))

    def _merges(self) -> _Group:
        running = _sum([line.mean for line in self._lines(NODES, "indices.merges.current")])
        columns = (_Shown("Merges running", "running", running),) if running else ()
        summary = "Mean number of merges that ran on all nodes."
        return _Group("merges", "Merges", "", summary, columns)


def _data_devices(record: RaceRecord) -> frozenset[str]:
    """Returns the block devices behind the data of the nodes that the race started."""
    sampler = record.telemetry.get("host-sampler")
    devices = sampler.get("data_devices") if isinstance(sampler, Mapping) else None
    found = devices if isinstance(devices, list | tuple) else ()
    names = (each.get("device") for each in found if isinstance(each, Mapping))
    return frozenset(name for name in names if isinstance(name, str))


def _sum(columns: Iterable[_Values]) -> list[float | None]:
    """Adds values part by part; None where one of them is not known. Empty without columns."""
    columns = list(columns)
    if not columns:
        return []
    added: list[float | None] = []
    for values in zip(*columns, strict=True):
        known = [value for value in values if value is not None]
        added.append(sum(known) if len(known) == len(values) else None)
    return added


def _scaled(values: _Values, factor: float) -> list[float | None]:
    return [None if value is None else value * factor for value in values]
