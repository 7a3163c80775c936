"""The hottest methods of a race in a few lines, for its report and its last screen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from pacenote.model.printable import single_line
from pacenote.report.recording.breakdown import BreakdownRow
from pacenote.report.recording.hot_methods import NodeProfile
from pacenote.report.rows import HotMethod, Note
from pacenote.report.screen.screen import Paragraph
from pacenote.report.screen.text import shortened
from pacenote.units import format_share

_METHODS = 5
"""Number of methods of each kind of event."""

_NAME_WIDTH = 60

_PACKAGE = re.compile(r"\b(?:[a-z_$][\w$]*\.)+(?=[A-Z])")
"""The package before the name of a class."""

_TITLES: Mapping[str, str] = {
    "cpu-by-method": "CPU",
    "cpu-time-by-method": "CPU time",
    "wall-by-method": "Running",
    "allocation-by-method": "Allocation",
    "allocation-sample-by-method": "Allocation",
    "locks-by-method": "Waits for locks",
}
"""What the kinds of events are called where there is little room, by the names of their tables."""


def short_profile(profiles: tuple[NodeProfile, ...]) -> tuple[HotMethod, ...]:
    """Returns the hottest methods of each kind of event."""
    return tuple(
        HotMethod(_events(table.name, profile.node), _method(row), row.figures.total / table.whole.total)
        for profile in profiles
        for table in profile.tables
        for row in table.rows[:_METHODS]
    )


def _events(table: str, node: str) -> str:
    return f"{_TITLES[table]} on {single_line(node)}" if node else _TITLES[table]


def _method(row: BreakdownRow) -> str:
    method, *lock = row.keys
    return f"{method} (for {lock[0]})" if lock else method


def profile_notes(profiles: tuple[NodeProfile, ...]) -> Iterator[Note]:
    """Yields a line for each recording that cannot be read, or not as a whole."""
    for profile in profiles:
        for text in filter(None, (profile.problem, *profile.notes)):
            yield Note("Recording", f"{single_line(profile.node)}: {text}" if profile.node else text)


def profile_paragraph(profiles: tuple[NodeProfile, ...]) -> Paragraph:
    """Returns the hottest methods without their packages, and what cannot be read."""
    groups = []
    for events, methods in groupby(short_profile(profiles), key=lambda method: method.events):
        named = [
            f"{shortened(_PACKAGE.sub('', method.method), _NAME_WIDTH)} {format_share(method.share)}"
            for method in methods
        ]
        groups.append((f"{events}: {named[0]}", *named[1:]))
    groups += [(note.text,) for note in profile_notes(profiles)]
    return Paragraph("Profile", tuple(groups))
