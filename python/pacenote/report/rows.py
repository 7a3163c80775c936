"""A report as data, independent of how it is printed."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from pacenote.figures.metric import PercentileKind, RowKind
from pacenote.model.race_record import Verdict

ShownRows = Literal["available", "all-percentiles", "all"]
"""The rows without a value that are shown (Rally's `--show-in-report`): none, percentiles, or all."""

Alignment = Literal["right", "center", "left", "decimal"]
"""The alignment of a table's values (Rally's `--report-numbers-align`)."""

PERCENTILE_KINDS: frozenset[RowKind] = frozenset(get_args(PercentileKind))
"""The kinds of rows that are percentiles."""

UNSUPPORTED_MARK = "*"
"""Marks a percentile that has too few samples."""

SHORT_WINDOW_MARK = "†"
"""Marks a throughput that was measured for less than a second."""

UNKNOWN_SAMPLES_MARK = "‡"
"""Marks a percentile of an imported race that may have too few samples."""


class Row(Struct, frozen=True):
    """One value of the report, in Rally's columns."""

    metric: str
    """Name of the value, such as `99th percentile service time`."""

    task: str
    """Name of the task or index; empty for a value of the whole race."""

    value: float | int | None
    """The value in `unit`, or None if there is no value."""

    unit: str
    """Unit of the value; empty for a count."""

    kind: RowKind = "other"
    """Kind of the value, which determines its footnote."""

    mark: str = ""
    """References to footnotes: `UNSUPPORTED_MARK`, `SHORT_WINDOW_MARK`, `BACKLOG_MARK`,
    `UNKNOWN_SAMPLES_MARK`, the first and the third together, or empty.
    """

    low: float | None = None
    """Lower end of the 95 % interval of a marked value, or None if the samples do not give one."""

    high: float | None = None
    """Upper end of the 95 % interval of a marked value, or None if the samples do not give one."""

    is_rallys: bool = True
    """Whether Rally has the row, too."""

    decimals: int | None = None
    """Number of decimals that Rally shows, or None for all digits."""


class Note(Struct, frozen=True):
    """One line of text in addition to the rows."""

    label: str
    """Kind of note, such as `Warning`."""

    text: str
    """A message or a value, without control characters."""

    task: str = ""
    """Name of the task; empty for a note about the whole race."""


class HotMethod(Struct, frozen=True):
    """One of the hottest methods of a race whose JVMs were recorded."""

    events: str
    """The kind of events, and the node if it has a name."""

    method: str
    """The method, with the class of the lock that it waits for."""

    share: float
    """Its share of these events."""


class Report(Struct, frozen=True):
    """The report of one race."""

    header: tuple[Note, ...]
    """Notes on the track, the engine and the options of the race."""

    rows: tuple[Row, ...]
    """The values, in the order in which they are printed."""

    verdict: Verdict
    """Whether the values may be used."""

    notes: tuple[Note, ...]
    """Warnings, errors and other remarks."""

    footnotes: tuple[str, ...]
    """Explanations of marks and of rows that need one."""

    progress: str = ""
    """How far a running race is, which is shown instead of a verdict; empty for any other race."""

    hottest: tuple[HotMethod, ...] = ()
    """The hottest methods of each kind of event, if the JVMs were recorded."""

    @property
    def has_marks(self) -> bool:
        """Whether a value is marked."""
        return any(row.mark for row in self.rows)


def note_lines(report: Report) -> list[Note]:
    """Returns verdict, reasons, notes and footnotes as lines, in the order in which every renderer prints
    them.
    """
    verdict = [
        Note("Verdict", report.progress or report.verdict.state),
        *(Note("Reason", text) for text in report.verdict.reasons),
    ]
    return [*verdict, *report.notes, *(Note("Footnote", text) for text in report.footnotes)]
