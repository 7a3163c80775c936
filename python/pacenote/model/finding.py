"""A reason for a verdict that is not `valid`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cause = Literal["engine", "driver", "machine", "track", "user", "pacenote", "unknown"]
"""What caused a finding: the engine or the way to it, the load driver, the machine that the driver runs on,
the track with its data and Python code, a choice of the user, a bug in Pacenote, or something unknown.
"""

_SHOWN_TASKS = 8
"""Maximum number of tasks that a sentence names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a race. The tasks that it concerns share one finding."""

    text: str
    """What is wrong, with its figures; without the names of tasks."""

    cause: Cause = "unknown"
    """What caused it."""

    advice: str = ""
    """What to do about it; empty if nothing can be done."""

    tasks: tuple[str, ...] = ()
    """Names of the tasks or steps that it concerns; empty for the whole race."""

    def __str__(self) -> str:
        """Returns one sentence: the tasks, what is wrong, and what to do."""
        return ": ".join(part for part in (name_tasks(self.tasks), self.text, self.advice) if part)


NOT_FINISHED = Finding("the race has not finished")
"""The reason of a race that is still running or was killed."""


def name_tasks(tasks: tuple[str, ...]) -> str:
    """Returns the names of tasks, of which the first eight are listed."""
    more = len(tasks) - _SHOWN_TASKS
    return ", ".join(tasks[:_SHOWN_TASKS]) + (f" and {more} more" if more > 0 else "")
