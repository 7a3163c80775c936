"""The machine and the engine over time: garbage collection, heap, CPUs, disk and merges, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from pacenote.model.cpu_list import format_cpus
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import GcPause, RaceObservations, TelemetryLine
from pacenote.model.sampler_facts import CHILDREN, CPU_STATES
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
from pacenote.report.page.numbers import clock, plain, plain_time
from pacenote.report.page.page import PageColumn, PageTable, RowGroup
from pacenote.report.page.time_charts import Chart, ChartLine, LineStyle
from pacenote.units import format_count, format_seconds, format_share

_MIB = 1024.0**2
_TABLE = "data-machine"

_COLLECTORS, _TIME = "jvm.gc.collectors.", ".collection_time"
"""Beginning and end of the names of the series with the times of collectors."""

WANTED = (
    *((HOST, f"cpu.{state}") for state in CPU_STATES),
    (HOST, "process.user"),
    (HOST, "process.system"),
    (HOST, CHILDREN),
    (HOST, "disk.read_bytes"),
    (HOST, "disk.write_bytes"),
    (HOST, "disk.busy_time"),
    (GAUGES, "jvm.mem.heap_used"),
    (NODES, _COLLECTORS),
    (NODES, "indices.merges.current"),
)
"""Sources and names of the series that the page shows."""


class _Shown(Struct, frozen=True):
    """A column of the table and the line that draws it."""

    heading: str
    label: str
    values: PartValues
    style: LineStyle = "line"


class _Group(Struct, frozen=True):
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
        self._record = record
        self._observed = observed
        self._parts = parts
        self._length_s = length_s
        self._devices = data_devices(record)

    def groups(self) -> Iterator[_Group]:
        yield self._collections()
        yield self._heap()
        yield self._cpus()
        yield self._disks()
        yield self._merges()

    def _lines(
        self, source: str, name: str, is_wanted: Callable[[Mapping[str, str]], bool] = lambda _: True
    ) -> list[TelemetryLine]:
        return selected_lines(self._observed.telemetry, source, name, is_wanted)

    def _collections(self) -> _Group:
        title = "Garbage collection pauses"
        if self._observed.has_gc_log:
            total, longest = [0.0] * self._parts, [0.0] * self._parts
            for pause in self._observed.pauses:
                number = int(pause.at_s // self._length_s)
                if 0 <= number < self._parts:
                    longest[number] = max(longest[number], pause.ms)
                for part, seconds in self._within_parts(pause):
                    total[part] += seconds * 1000 / self._length_s
            of_log = (
                _Shown("GC pauses (ms/s)", "per second", total, "bar"),
                _Shown("Longest pause (ms)", "longest", longest, "faint"),
            )
            return _Group("gc", title, "ms", self._pause_summary(), of_log)
        times = [
            line.mean
            for line in self._observed.telemetry
            if line.source == NODES and _counts_pauses(line.name)
        ]
        summary = "Pauses of all nodes together as they report them; there is no GC log."
        columns = (_Shown("GC pauses (ms/s)", "per second", added(times), "bar"),) if times else ()
        return _Group("gc", title, "ms/s", summary, columns)

    def _within_parts(self, pause: GcPause) -> Iterator[tuple[int, float]]:
        """Yields the parts that a pause is in, each with the seconds of it that are."""
        end_s = pause.at_s + pause.ms / 1000
        first, last = (int(max(0.0, at_s) // self._length_s) for at_s in (pause.at_s, end_s))
        for number in range(first, min(last + 1, self._parts)):
            begin_s = number * self._length_s
            seconds = min(end_s, begin_s + self._length_s) - max(pause.at_s, begin_s)
            yield number, max(0.0, seconds)

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
        lines = self._lines(GAUGES, "jvm.mem.heap_used")
        # Different nodes use most at different moments: the sum of that is no use of all of them.
        is_one = len(lines) == 1
        used = lines[0].max if is_one else added([line.mean for line in lines])
        summary = "Largest use in each part." if is_one else "Mean use of all nodes together in each part."
        columns = (_Shown("Heap used (MiB)", "used", _scaled(used, 1 / _MIB)),) if used else ()
        return _Group("heap", "Heap, MiB", "MiB", summary, columns)

    def _cpus(self) -> _Group:
        use = cpu_use(self._observed.telemetry, self._record)
        if not use.busy:
            return _Group("cpu", "CPU, %", "%", "", ())
        which, label = ("CPUs of the engine", "all on them") if use.cpus else ("All CPUs", "all")
        columns = [_Shown(f"{which} busy (%)", label, _scaled(use.busy, 100), "faint")]
        processes: tuple[tuple[str, str, LineStyle, PartValues], ...] = (
            ("Engine (%)", "engine", "line", use.engine),
            ("Driver (%)", "driver", "dashed", use.driver),
        )
        columns += [
            _Shown(heading, label, _scaled(share, 100), style)
            for heading, label, style, share in processes
            if share
        ]
        known = [each for each in use.busy if each is not None]
        summary = "The CPUs of the driver's host"
        if use.cpus:
            summary = f"The CPUs that the engine may use ({format_cpus(use.cpus)})"
        if known:
            summary += f" were busy for {format_share(sum(known) / len(known))} of the time."
        if use.driver_cpus != use.cpus and use.driver and known:
            its_own = f"CPUs {format_cpus(use.driver_cpus)}" if use.driver_cpus else "all CPUs"
            summary += f" The share of the driver is that of {its_own}, which it may use."
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
            values = added([line.mean for line in self._lines(HOST, f"disk.{name}_bytes", of_data)])
            if values:
                heading = f"{label.capitalize()} (MiB/s)"
                columns.append(_Shown(heading, label, _scaled(values, 1 / _MIB), style))
        names = single_line(", ".join(sorted(self._devices)))
        return _Group("disk", "Disk, MiB/s", "MiB/s", f"Devices behind the data: {names}.", tuple(columns))

    def _merges(self) -> _Group:
        running = added([line.mean for line in self._lines(NODES, "indices.merges.current")])
        columns = (_Shown("Merges running", "running", running),) if running else ()
        summary = "Mean number of merges that ran on all nodes."
        return _Group("merges", "Merges", "", summary, columns)


def _counts_pauses(name: str) -> bool:
    """Returns whether a series has the time of a collector in which a node stood still. That of whole cycles
    is mostly time beside the application: `ZGC Cycles`, `Shenandoah Cycles`, and `ZGC` before Java 17.
    """
    collector = name.removeprefix(_COLLECTORS).removesuffix(_TIME)
    is_time = name.startswith(_COLLECTORS) and name.endswith(_TIME)
    return is_time and "cycles" not in collector and collector != "zgc"


def _scaled(values: PartValues, factor: float) -> list[float | None]:
    return [None if value is None else value * factor for value in values]
