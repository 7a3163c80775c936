"""The operations of the tasks over time: their table, and the charts that draw it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from pacenote.model.printable import single_line
from pacenote.model.race_timeline import (
    RaceObservations,
    RaceTimeline,
    TaskArrivals,
    TaskTimeline,
    TimelinePoint,
)
from pacenote.model.result import TaskResult
from pacenote.model.task_kinds import runs_once
from pacenote.report.page.numbers import clock, plain, plain_time
from pacenote.report.page.page import PageColumn, PageTable, RowGroup
from pacenote.report.page.time_charts import Band, Chart, ChartLine, HeatMap
from pacenote.units import format_count, format_rate, format_seconds

OPERATIONS = "data-operations"
"""Id of the table of operations over time."""

_ARRIVALS = "data-arrivals"
_HEAT = "data-durations"
_SHORTEST_S = 1e-3
"""Shortest time that a rate is divided by."""

_LEAST_REST_S = 0.5
"""Length in seconds from which the rest of a task after its whole parts has a rate of its own."""

_HEAT_ROWS = 100
"""Largest number of rows of the table of durations."""


class TimedTask(Struct, frozen=True):
    """A task of which it is known what it did over time."""

    result: TaskResult
    """Its result."""

    line: TaskTimeline
    """Its operations over time."""

    lane: int
    """Number of its lane: tasks that overlap have different ones."""

    @property
    def name(self) -> str:
        """Its name as shown."""
        return single_line(self.result.task)

    @property
    def end_s(self) -> float:
        """Its end, in seconds since the race's first task began."""
        return self.result.started_s + self.result.duration_s


def timed_tasks(tasks: Sequence[TaskResult], timeline: RaceTimeline | None) -> tuple[TimedTask, ...]:
    """Returns the tasks with points, in the order in which they began, each in a lane of its own time."""
    timed: list[TimedTask] = []
    ends: list[float] = []
    for task in sorted(tasks, key=lambda each: each.started_s):
        line = timeline.tasks.get(task.task) if timeline else None
        if line is None or not line.points:
            continue
        lane = next((number for number, end in enumerate(ends) if end <= task.started_s), len(ends))
        ends[lane : lane + 1] = [task.started_s + task.duration_s]
        timed.append(TimedTask(task, line, lane))
    return tuple(timed)


def bands(tasks: Sequence[TimedTask]) -> tuple[Band, ...]:
    """Returns when the tasks ran."""
    return tuple(
        Band(
            task.name,
            task.result.started_s,
            task.end_s,
            task.result.started_s + (task.line.measured_from_s or 0),
            task.lane,
        )
        for task in tasks
    )


def operation_table(tasks: Sequence[TimedTask], length_s: int) -> PageTable:
    """Returns the operations of the tasks in each part."""
    paced = any(point.lateness for task in tasks for point in task.line.points)
    headings = ["Time (s)", "Throughput (per s)", "Slowest second", "Fastest second"]
    headings += ["p50 (ms)", "p90 (ms)", "p99 (ms)", "Longest (ms)", "Errors"]
    headings += ["Late p99 (ms)", "Latest (ms)"] if paced else []
    groups = tuple(
        RowGroup(
            task.name,
            tuple(_rows(task, length_s, paced=paced)),
            _unit(task),
            task.lane,
            task.end_s,
        )
        for task in tasks
    )
    caption = f"Operations by task, in parts of {format_seconds(length_s)}"
    return PageTable(OPERATIONS, caption, tuple(map(PageColumn, headings)), groups, is_folded=True)


def _rows(task: TimedTask, length_s: int, *, paced: bool) -> Iterator[tuple[str, ...]]:
    """Yields the parts of a task until the last one in which an operation ended."""
    points = {point.from_s: point for point in task.line.points}
    nothing = ("0", *["0"] * 2, *[""] * (7 if paced else 5))
    for from_s in range(0, max(points) + 1, length_s):
        if from_s in points:
            yield _row(task, points[from_s], length_s, paced=paced)
        else:
            yield (plain_time(task.result.started_s + from_s), *nothing)


def _row(task: TimedTask, point: TimelinePoint, length_s: int, *, paced: bool) -> tuple[str, ...]:
    rest_s = max(task.result.duration_s - point.from_s, _SHORTEST_S)
    covered_s = min(length_s, rest_s)
    times, late = point.times, point.lateness
    whole = covered_s >= 1
    # The work of a short rest, divided by its time, would be a peak, and its last second is not a whole one.
    is_peak = point.from_s > 0 and covered_s < _LEAST_REST_S
    ends_in_second = rest_s < length_s and rest_s - math.floor(rest_s) >= _SHORTEST_S
    cells = (
        plain_time(task.result.started_s + point.from_s),
        "" if is_peak else plain(point.work / covered_s),
        plain(point.least_work) if whole and not ends_in_second else "",
        plain(point.most_work) if whole and not ends_in_second else "",
        *map(plain, (times.p50_ms, times.p90_ms, times.p99_ms, times.max_ms)),
        str(point.errors or ""),
    )
    return (
        (*cells, plain(late.p99_ms if late else None), plain(late.max_ms if late else None))
        if paced
        else cells
    )


def operation_charts(tasks: Sequence[TimedTask], length_s: int) -> Iterator[Chart]:
    """Yields the charts of the operations; those that would show nothing are left out."""
    spread = (ChartLine("slowest to fastest second", 2, "band", 3),) if length_s > 1 else ()
    units = dict.fromkeys(_unit(task) for task in tasks if not runs_once(task.result))
    for number, unit in enumerate(units):
        lines = (*spread, ChartLine("throughput", 1))
        summary = _throughput_summary(tasks, unit)
        yield Chart(f"throughput-{number}", f"Throughput, {unit}", summary, OPERATIONS, unit, lines, unit)
    times = (
        ChartLine("p50 to p90", 4, "band", 5),
        ChartLine("p50", 4),
        ChartLine("p99", 6, "dashed"),
        ChartLine("longest", 7, "faint"),
    )
    yield Chart("latency", "Latency", _latency_summary(tasks), OPERATIONS, "ms", times, is_logarithmic=True)


def _unit(task: TimedTask) -> str:
    return f"{single_line(task.result.unit)}/s"


def late_chart(tasks: Sequence[TimedTask]) -> Iterator[Chart]:
    """Yields the chart of lateness if there are tasks with a schedule."""
    latest = max(
        (point.lateness.max_ms or 0.0 for task in tasks for point in task.line.points if point.lateness),
        default=None,
    )
    if latest is not None:
        lines = (ChartLine("p99", 9), ChartLine("latest", 10, "faint"))
        summary = f"The driver sent no request more than {format_seconds(latest / 1000)} late."
        yield Chart(
            "lateness", "Lateness of the driver", summary, OPERATIONS, "ms", lines, is_logarithmic=True
        )


def error_chart(tasks: Sequence[TimedTask]) -> Iterator[Chart]:
    """Yields the chart of errors if there were any."""
    errors = sum(point.errors for task in tasks for point in task.line.points)
    if errors:
        failed = [task.name for task in tasks if any(point.errors for point in task.line.points)]
        summary = f"{format_count(errors, 'operation')} failed, in {', '.join(failed)}."
        yield Chart("errors", "Errors", summary, OPERATIONS, "", (ChartLine("errors", 8, "bar"),))


def _throughput_summary(tasks: Sequence[TimedTask], unit: str) -> str:
    rates = [
        f"{task.name} {format_rate(task.result.throughput.mean)}"
        for task in tasks
        if _unit(task) == unit and task.result.throughput and not runs_once(task.result)
    ]
    shown = ", ".join(rates[:4])
    more = f" and {len(rates) - 4} more tasks" if len(rates) > 4 else ""
    return f"Mean in {unit}: {shown}{more}." if rates else "No work succeeded."


def _latency_summary(tasks: Sequence[TimedTask]) -> str:
    peaks = [
        (point.times.max_ms, task.result.started_s + point.from_s, task.name)
        for task in tasks
        for point in task.line.points
        if point.times.max_ms is not None
    ]
    if not peaks:
        return "No operation succeeded."
    longest_ms, at_s, name = max(peaks)
    return (
        f"The longest took {format_seconds(longest_ms / 1000)}, in {name} at {clock(at_s)}. Service time in "
        "tasks without a schedule. A percentile needs an operation above it."
    )


def arrival_table(tasks: Sequence[TimedTask], observed: RaceObservations, length_s: int) -> PageTable | None:
    """Returns when operations of tasks with a schedule were due and done, or None if that is not known."""
    groups = tuple(
        RowGroup(task.name, _arrival_rows(task, arrivals, length_s), "", task.lane, task.end_s)
        for task in tasks
        if (arrivals := observed.arrivals.get(task.result.task)) and any(arrivals.due)
    )
    if not groups:
        return None
    columns = ("Time (s)", "Due (per s)", "Done (per s)", "Due, not done")
    caption = "Operations that were due and done, of those with a sample"
    return PageTable(_ARRIVALS, caption, tuple(map(PageColumn, columns)), groups, is_folded=True)


def _arrival_rows(task: TimedTask, arrivals: TaskArrivals, length_s: int) -> tuple[tuple[str, ...], ...]:
    rows, waiting = [], 0
    # A rest of less than half a part belongs to the last one: divided by its short time, it would be a peak.
    parts = max(math.floor(task.result.duration_s / length_s + 0.5), 1)
    count = min(parts, max(len(arrivals.due), len(arrivals.done)))
    dues, dones = (_in_parts(each, count) for each in (arrivals.due, arrivals.done))
    for number, (due, done) in enumerate(zip(dues, dones, strict=True)):
        waiting += due - done
        rest_s = task.result.duration_s - number * length_s
        covered_s = max(rest_s if number == parts - 1 else min(length_s, rest_s), _SHORTEST_S)
        at_s = task.result.started_s + number * length_s
        rows.append((plain_time(at_s), plain(due / covered_s), plain(done / covered_s), str(waiting)))
    return tuple(rows)


def _in_parts(counts: Sequence[int], parts: int) -> list[int]:
    """Returns the counts of so many parts, the last of which has those of all that follow."""
    padded = [*counts, *[0] * (parts - len(counts))]
    return [*padded[: parts - 1], sum(padded[parts - 1 :])]


def arrival_charts(table: PageTable) -> Iterator[Chart]:
    """Yields the charts of arrivals and completions."""
    lines = (ChartLine("due", 1, "faint"), ChartLine("done", 2))
    summary = "Operations per second that were due, and that ended."
    yield Chart("arrivals", "Arrivals and completions", summary, table.id, "ops/s", lines)
    most = max(int(str(row[3])) for group in table.groups for row in group.rows)
    summary = f"At most {format_count(most, 'operation')} due but not done, at the end of a part."
    yield Chart("open", "Due, but not done", summary, table.id, "ops", (ChartLine("open", 3),))


def heat_map(tasks: Sequence[TimedTask], timeline: RaceTimeline) -> tuple[PageTable, HeatMap] | None:
    """Returns the numbers of operations by time and duration, or None if none succeeded."""
    end_s = max((task.end_s for task in tasks), default=0.0)
    factor = max(1, -(-int(end_s / timeline.length_s) // _HEAT_ROWS))
    length_s = factor * timeline.length_s
    counts: dict[int, dict[int, int]] = {}
    for task in tasks:
        for point in task.line.points:
            row = counts.setdefault(int((task.result.started_s + point.from_s) // length_s), {})
            for level, count in point.levels:
                row[level] = row.get(level, 0) + count
    levels = sorted({level for row in counts.values() for level in row})
    if not levels:
        return None
    shown = range(levels[0], levels[-1] + 1)
    edges = tuple(10 ** (level / timeline.levels_per_decade) / 1e6 for level in (*shown, shown.stop))
    rows = tuple(
        (plain_time(number * length_s), *(str(row.get(level, "")) for level in shown))
        for number, row in sorted(counts.items())
    )
    columns = (
        PageColumn("Time (s)"),
        *(PageColumn(f"from {format_seconds(edge / 1000)}") for edge in edges[:-1]),
    )
    caption = f"Operations of all tasks by duration, in parts of {format_seconds(length_s)}"
    table = PageTable(_HEAT, caption, columns, (RowGroup("", rows),), is_folded=True)
    summary = f"Number of operations by duration, from {format_seconds(edges[0] / 1000)} to "
    summary += f"{format_seconds(edges[-1] / 1000)}; a stronger colour means more."
    return table, HeatMap("durations", "Latency heat map", summary, _HEAT, edges, length_s)
