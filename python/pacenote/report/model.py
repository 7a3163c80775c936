"""What a report consists of, before anyone decides how it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pacenote.model.race_record import Verdict

Show = Literal["available", "all-percentiles", "all"]
"""Which rows without a value are shown (Rally's `--show-in-report`): none, percentiles, or all."""

Align = Literal["right", "center", "left", "decimal"]
"""How the values of a table are aligned (Rally's `--report-numbers-align`)."""

MARK = "*"
"""Marks a percentile that too few samples support."""

SHORT = "†"
"""Marks a throughput of a measured window shorter than a second."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of the report, in Rally's columns; `value` None is a figure that does not exist.

    A row with a `mark` is explained by a footnote; `low` and `high` are then the 95 % interval of its value,
    in the same unit, or None where the samples do not give one.
    """

    metric: str
    task: str
    value: float | int | None
    unit: str
    mark: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One line of text that belongs to the figures; `task` is empty when it is about the whole race."""

    label: str
    text: str
    task: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A report: what the race was, its figures, what to think of them, and what the marks mean."""

    header: tuple[Note, ...]
    rows: tuple[Row, ...]
    verdict: Verdict
    notes: tuple[Note, ...]
    footnotes: tuple[str, ...]

    @property
    def marked(self) -> bool:
        """Whether any figure is marked."""
        return any(row.mark for row in self.rows)


def note_lines(report: Report) -> list[Note]:
    """Verdict, reasons, notes and footnotes as lines, in the order every renderer prints them."""
    verdict = [
        Note("Verdict", report.verdict.state),
        *(Note("Reason", text) for text in report.verdict.reasons),
    ]
    return [*verdict, *report.notes, *(Note("Footnote", text) for text in report.footnotes)]
