"""The most frequent errors of a race, merged over its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pacenote.model.finding import name_tasks
from pacenote.model.printable import single_line
from pacenote.model.result import TaskResult
from pacenote.units import format_count

_SHOWN = 3
"""Maximum number of kinds of errors."""


@dataclass(slots=True)
class _Kind:
    """Errors with the same label and noun."""

    reason: str
    count: int = 0
    tasks: dict[str, None] = field(default_factory=dict)


def error_lines(tasks: Sequence[TaskResult]) -> tuple[str, ...]:
    """Returns one line for each of the most frequent kinds of errors, with an example."""
    kinds: dict[tuple[str, str], _Kind] = {}
    for task in tasks:
        for group in task.errors:
            kind = kinds.setdefault((group.label, group.counted), _Kind(group.reason))
            kind.count += group.count
            kind.tasks[task.task] = None
    by_count = sorted(kinds.items(), key=lambda item: item[1].count, reverse=True)
    lines = [
        f"{name_tasks(tuple(kind.tasks))}: {format_count(kind.count, noun)}: {label}: {kind.reason}"
        for (label, noun), kind in by_count[:_SHOWN]
    ]
    if (more := len(by_count) - _SHOWN) > 0:
        lines.append(f"{format_count(more, 'more kind')} of error")
    return tuple(map(single_line, lines))
