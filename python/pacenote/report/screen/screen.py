"""The last screen of a race as data, independent of its width."""

from __future__ import annotations

from msgspec import Struct

from pacenote.model.finding import Finding
from pacenote.model.race_record import VerdictState
from pacenote.model.race_state import RaceState


class Headline(Struct, frozen=True):
    """The first line."""

    state: VerdictState
    """The verdict."""

    badge: VerdictState | RaceState
    """The verdict, or the state of a race that is not complete."""

    race: str
    """Track, challenge and engine."""

    duration: str
    """For how long the driver ran, in words; empty if unknown."""


class Answer(Struct, frozen=True):
    """A figure that answers one of the first questions about a race."""

    label: str
    """What is answered, such as `Errors`."""

    text: str
    """The answer."""

    is_wrong: bool = False
    """Whether it shows that something is wrong."""


class Limit(Struct, frozen=True):
    """What limited the race, in one line."""

    forms: tuple[str, ...]
    """Texts that say it, the longest first, of which the first one that fits is shown."""


class Column(Struct, frozen=True):
    """A column of the task tables, after the name of the task."""

    name: str
    """Identifies the column, such as `p99`."""

    heading: str = ""
    """Its heading, or empty if that is the name."""

    is_essential: bool = True
    """Whether even a very narrow screen shows it, if its priority is 0."""

    priority: int = 0
    """0 if the column is always shown; of the others, those with low numbers are the first to be added."""


class Cell(Struct, frozen=True):
    """One value of a task."""

    text: str
    """The value with its unit and mark; empty if there is none."""

    is_wrong: bool = False
    """Whether it shows that something is wrong."""


class TaskRow(Struct, frozen=True):
    """One task."""

    name: str
    """Name of the task, with the mark of a footnote."""

    cells: tuple[Cell, ...]
    """Its values, one for each column."""

    is_doubtful: bool = False
    """Whether a reason of the verdict concerns the task."""


class TaskTable(Struct, frozen=True):
    """Tasks of one kind."""

    title: str
    """The kind, such as `Searches`."""

    heads: tuple[str, ...]
    """Headings, one for each column."""

    lines: tuple[TaskRow, ...]
    """The tasks in the order in which they ended."""


class Paragraph(Struct, frozen=True):
    """Short phrases below one label, separated by commas."""

    label: str
    """What the phrases describe, such as `Engine`."""

    groups: tuple[tuple[str, ...], ...]
    """Phrases; each group begins on a line of its own."""


class Command(Struct, frozen=True):
    """A command that the user may enter next."""

    text: str
    """The command."""

    purpose: str
    """What it shows or does."""


class StoredRace(Struct, frozen=True):
    """Where to find a race."""

    folder: str
    """Its folder."""

    description: str
    """Its id, and the time at which it began."""


class Screen(Struct, frozen=True):
    """The last screen of a race."""

    headline: Headline
    """The verdict on which race."""

    answers: tuple[Answer, ...]
    """The most important figures."""

    findings: tuple[Finding, ...]
    """Why the race is not valid."""

    errors: tuple[str, ...]
    """The most frequent errors, one line each."""

    columns: tuple[Column, ...]
    """The columns of all task tables."""

    tables: tuple[TaskTable, ...]
    """One line per task, by kind of task."""

    footnotes: tuple[str, ...]
    """Explanations of the marks in the tables."""

    paragraphs: tuple[Paragraph, ...]
    """Other tasks, the engine, and the conditions of the race."""

    results: StoredRace
    """Where the results are."""

    commands: tuple[Command, ...]
    """What to enter next."""

    limits: tuple[Limit, ...] = ()
    """What limited the race, the most important first."""

    summary: str = ""
    """The answer in one line, for a terminal that does not show the first lines."""
