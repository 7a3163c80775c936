"""The live display of a race as lines of text: what has ended, what runs, and what is to come.

The lines fit the terminal. What does not is counted: first tasks that have ended, then tasks to come, then
details of the running ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.cli.output.progress_text import failures_text, silence_text, wait_text
from pacenote.figures.percentiles import LINE_PERCENTILES
from pacenote.model.printable import single_line
from pacenote.model.race_progress import RaceProgress, TaskProgress, TasksToCome
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.warmup_backlog import BACKLOG_MARK
from pacenote.report.screen.sparkline import sparkline
from pacenote.report.screen.text import Line, Span, Style, cut, left, right, shortened, text_width
from pacenote.report.task_line import percentile_text, task_line
from pacenote.units import format_count, format_rate, format_seconds

_WIDE = 110
"""Columns of a terminal from which on lateness has a column of its own, and bars are longer."""

_GUTTER = 7
"""Columns for the labels of the groups."""

_GAP = 2
"""Columns between two columns of the table."""

_MIN_NAME = 12
"""Columns that names of tasks have at least."""

_MAX_NAME = 40
"""Columns that names of tasks have at most."""

_HEADINGS = ("time", "rate", "p50", "p99", "late p99", "errors")
_LEAST = (6, 14, 7, 7, 8, 6)
"""Headings of the columns with figures, and their widths unless a figure needs more."""

_LATE = _HEADINGS.index("late p99")
_ERRORS = _HEADINGS.index("errors")

_DISPENSABLE = (_HEADINGS.index("time"), _HEADINGS.index("p50"))
"""Columns that a narrow terminal lacks, in this order."""

_SECONDS = 60
"""Number of seconds of a task that are kept for its sparkline."""

_FEWEST_BARS = 5
"""Number of seconds from which on there is a sparkline."""

_SHOWN_DONE = 8
"""Largest number of lines about tasks that have ended."""

_SHOWN_HEIGHT = 40
"""Largest number of lines of the display: more would only cost time."""

_ROOMY = 16
"""Rows of a terminal from which on a blank line separates the display from the lines above it."""

_WHOLE_S = 10.0
"""Seconds of a finished task from which on its time has no fractions."""


class _Row(Struct, frozen=True):
    """A line of the table."""

    name: str
    figures: tuple[str, ...]
    has_errors: bool = False
    note: str = ""
    """What is wrong with the task; empty if nothing is."""


class _Recent(Struct):
    """What a running task did in its last seconds."""

    began_s: float
    """When it was first seen, in seconds since the race began."""

    target: float | None = None
    """Its target rate."""

    second: int = -1
    """The second of the last value."""

    values: deque[float | None] = field(default_factory=lambda: deque(maxlen=_SECONDS))
    """Its rate in each second, or p99 of its latency if it has a schedule."""


class RaceView:
    """What the live display shows of a race."""

    def __init__(self) -> None:
        self._title = ""
        self._job = ""
        self._progress: RaceProgress | None = None
        self._done: list[_Row] = []
        self._recent: dict[str, _Recent] = {}

    def job(self, text: str) -> None:
        """Shows a job outside the measured part of the race, such as a download."""
        self._job = single_line(text)

    def started(self, record: RaceRecord) -> None:
        """Shows which race runs."""
        engine = " ".join(part for part in (record.cluster.distribution, record.cluster.version) if part)
        names = " / ".join(name for name in (record.track.name, record.challenge) if name)
        self._title = single_line(f"{names} on {engine}" if engine else names)

    def update(self, progress: RaceProgress) -> None:
        """Shows the running tasks."""
        self._job, self._progress = "", progress
        for task in progress.tasks:
            recent = self._recent.setdefault(task.task, _Recent(progress.elapsed_s))
            recent.target = task.target
            if int(progress.elapsed_s) > recent.second:
                recent.second = int(progress.elapsed_s)
                recent.values.append(task.p99_ms if task.has_latency else task.rate)

    def finished(self, result: TaskResult) -> None:
        """Shows that a task has ended."""
        recent = self._recent.pop(result.task, None)
        if self._progress is not None:
            others = tuple(task for task in self._progress.tasks if task.task != result.task)
            self._progress = replace(self._progress, tasks=others)
        self._done.append(_done_row(result, recent.target if recent else None))

    def lines(self, width: int, height: int) -> list[Line]:
        """Returns the lines of the display, none of which is longer than `width` or exceeds `height`."""
        if self._job or self._progress is None:
            return [cut(_line(self._job or self._title), width)] if self._job or self._title else []
        return _Layout(self._progress, self._done, self._recent, width).lines(
            self._title, min(height, _SHOWN_HEIGHT)
        )


class _Layout:
    """Arranges the lines for a width."""

    def __init__(
        self, progress: RaceProgress, done: Sequence[_Row], recent: dict[str, _Recent], width: int
    ) -> None:
        self._progress = progress
        self._recent = recent
        self._width = width
        self._is_wide = width >= _WIDE
        self._done = done[-_SHOWN_DONE:]
        self._done_count = len(done)
        self._running = [self._running_row(task) for task in progress.tasks]
        rows = [*self._done, *self._running]
        widths = [
            max([_LEAST[index], *(text_width(row.figures[index]) for row in rows)])
            for index in range(len(_HEADINGS))
        ]
        self._columns = [index for index in range(len(_HEADINGS)) if index != _LATE or self._is_wide]
        for dispensable in _DISPENSABLE:
            room = width - _GUTTER - sum(_GAP + widths[index] for index in self._columns)
            if room < _MIN_NAME:
                self._columns.remove(dispensable)
        self._widths = [widths[index] for index in self._columns]
        room = width - _GUTTER - sum(_GAP + each for each in self._widths)
        longest = max((text_width(row.name) for row in rows), default=0)
        self._name = max(_MIN_NAME, min(longest, room, _MAX_NAME))

    def lines(self, title: str, height: int) -> list[Line]:
        blank: list[Line] = [()] if height >= _ROOMY else []
        head = [*blank, *self._head(title), self._headings()]
        to_come = list(self._to_come(self._progress.to_come))
        room = height - len(head) - len(to_come) - bool(self._done)
        running = self._running_lines(room)
        done = self._done_lines(height - len(head) - len(to_come) - len(running))
        return [cut(line, self._width) for line in (*head, *done, *running, *to_come)][: max(height, 1)]

    def _head(self, title: str) -> Iterator[Line]:
        progress = self._progress
        activity = progress.activity or f"step {progress.step} of {progress.steps}"
        parts = (activity, format_seconds(round(progress.elapsed_s)), _time_left(progress))
        state = ", ".join(part for part in parts if part)
        if not title:
            yield _line(f" {state}", "title")
        elif 1 + text_width(title) + 4 + text_width(state) <= self._width:
            yield (Span(f" {title}", "title"), Span(f"    {state}"))
        else:
            yield _line(f" {title}", "title")
            yield _line(f" {state}")

    def _headings(self) -> Line:
        return (Span(" " * (_GUTTER + self._name)), *self._cells(_HEADINGS, "quiet"))

    def _cells(self, figures: Sequence[str], style: Style = "") -> Iterator[Span]:
        for index, width in zip(self._columns, self._widths, strict=True):
            yield Span(right(figures[index], _GAP + width), style)

    def _row(self, row: _Row, label: str, style: Style = "") -> Line:
        name = Span(left(shortened(row.name, self._name), self._name), style)
        cells = list(self._cells(row.figures))
        if row.has_errors:
            cells[self._columns.index(_ERRORS)] = Span(cells[self._columns.index(_ERRORS)].text, "bad")
        return (Span(f" {label:{_GUTTER - 1}}", "title"), name, *cells)

    def _done_lines(self, room: int) -> list[Line]:
        """Returns the last tasks that have ended, and the number of those before them."""
        if room <= 0 or not self._done:
            return []
        lines: list[Line] = []
        shown = 0
        for row in reversed(self._done):
            block = [self._row(row, "")]
            if row.note:
                block.append(_line(f"{' ' * (_GUTTER + 2)}{row.note}", "doubtful"))
            is_last = shown + 1 == self._done_count
            if len(lines) + len(block) + (not is_last) > room:
                break
            lines = [*block, *lines]
            shown += 1
        if hidden := self._done_count - shown:
            count = format_count(hidden, "task") if not shown else f"{hidden:,} earlier"
            lines.insert(0, (Span(" " * _GUTTER), Span(count, "quiet")))
        return _labelled("done", lines)

    def _running_row(self, task: TaskProgress) -> _Row:
        ran_s = round(self._progress.elapsed_s - self._recent[task.task].began_s)
        times = (None, None, None) if task.one_off else (task.p50_ms, task.p99_ms, task.late_p99_ms)
        figures = (format_seconds(ran_s), _running_rate(task), *map(_ms, times), f"{task.errors:,}")
        return _Row(single_line(task.task), figures, has_errors=task.errors > 0)

    def _running_lines(self, room: int) -> list[Line]:
        """Returns the running tasks, with less about each, and then fewer of them, if room is short."""
        blocks = [
            [self._row(row, ""), *self._details(task), *self._notes(task)]
            for task, row in zip(self._progress.tasks, self._running, strict=True)
        ]
        if sum(map(len, blocks)) > room:
            blocks = [[block[0]] for block in blocks]
        if len(blocks) > room:
            shown = max(room - 1, 1)
            more: Line = (Span(" " * _GUTTER), Span(f"{len(blocks) - shown:,} more", "quiet"))
            blocks = [*blocks[:shown], [more]]
        return _labelled("now", [line for block in blocks for line in block])

    def _details(self, task: TaskProgress) -> Iterator[Line]:
        """Yields how much of a task is done, and its last seconds."""
        if task.one_off:
            return
        spans = [Span(" " * _GUTTER)]
        if task.done_share is not None:
            spans.append(Span(_progress_bar(task.done_share, 20 if self._is_wide else 10), "good"))
            spans.append(Span(f" {task.done_share * 100:3.0f} %"))
        if task.warming_up:
            spans.append(Span("  warm-up", "quiet"))
        if task.eta_s is not None:
            spans.append(Span(f"  {format_seconds(round(task.eta_s))} left"))
        late = "" if self._is_wide or task.late_p99_ms is None else f"  late p99 {_ms(task.late_p99_ms)}"
        what = "p99" if task.has_latency else f"{single_line(task.unit)}/s"
        room = self._width - sum(text_width(span.text) for span in (*spans, Span(late))) - len(what) - 4
        values = list(self._recent[task.task].values)[-max(room, 0) :]
        if len(values) >= _FEWEST_BARS and room >= _FEWEST_BARS:
            spans += [Span(f"   {what} ", "quiet"), Span(sparkline(values))]
        if late:
            spans.append(Span(late))
        if len(spans) > 1:
            yield tuple(spans)

    def _notes(self, task: TaskProgress) -> Iterator[Line]:
        """Yields what a task waits for."""
        if text := wait_text(task, self._progress) or silence_text(task):
            yield _line(f"{' ' * _GUTTER}{text}", "doubtful")

    def _to_come(self, to_come: TasksToCome | None) -> Iterator[Line]:
        """Yields the tasks that have not begun: as many names as fit, and the number of the others."""
        if to_come is None or not to_come.count:
            return
        names: list[str] = []
        text = format_count(to_come.count, "task")
        for name in map(single_line, to_come.first):
            names.append(name)
            hidden = to_come.count - len(names)
            longer = ", ".join(names) + (f" and {hidden:,} more" if hidden else "")
            if _GUTTER + text_width(longer) > self._width:
                break
            text = longer
        yield (Span(f" {'next':{_GUTTER - 1}}", "title"), Span(text))


def _done_row(result: TaskResult, target: float | None) -> _Row:
    """Returns the line about a task that has ended; one that each client ran at most once has no rates."""
    line = task_line(result)
    mark = BACKLOG_MARK if line.has_backlog else ""
    texts = [percentile_text(line.percentile(q)) for q in LINE_PERCENTILES]
    p50, p99 = (f"{text}{mark}" if text else "" for text in texts)
    late = percentile_text(line.late_p99) if line.times else ""
    rate_mark = BACKLOG_MARK if line.rate_has_backlog else ""
    rate = "" if line.rate is None else f"{_rate(line.rate, target, result.unit)}{rate_mark}"
    time_s = round(result.duration_s) if result.duration_s >= _WHOLE_S else result.duration_s
    return _Row(
        f"{line.name} ({line.ended})" if line.ended else line.name,
        (format_seconds(time_s), rate, p50, p99, late, f"{line.failed:,}"),
        has_errors=line.failed > 0,
        note=failures_text(result),
    )


def _time_left(progress: RaceProgress) -> str:
    """Returns how long the race still takes, as far as that is known."""
    if progress.activity:
        return ""
    if progress.left is None:
        return "time left unknown"
    seconds = format_seconds(round(progress.left.seconds))
    return f"about {seconds} left" if progress.left.complete else f"at least {seconds} left"


def _running_rate(task: TaskProgress) -> str:
    return "" if task.one_off else _rate(task.rate, task.target, task.unit)


def _rate(rate: float, target: float | None, unit: str) -> str:
    of_target = "" if target is None else f" of {format_rate(target)}"
    return single_line(f"{format_rate(rate)}{of_target} {unit}/s")


def _ms(value: float | None) -> str:
    return "" if value is None else format_seconds(value / 1e3)


def _progress_bar(share: float, width: int) -> str:
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def _line(text: str, style: Style = "") -> Line:
    return (Span(text, style),)


def _labelled(label: str, lines: list[Line]) -> list[Line]:
    """Returns the lines with a label in the gutter of the first."""
    if lines:
        rest = lines[0][0].text[_GUTTER:]
        lines[0] = (Span(f" {label:{_GUTTER - 1}}", "title"), *((Span(rest),) if rest else ()), *lines[0][1:])
    return lines
