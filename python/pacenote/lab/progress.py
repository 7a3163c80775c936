"""The progress of a search: which probe or level runs, instead of a step of a race."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.race_listener import DriveListener
from pacenote.model.race_progress import RaceProgress
from pacenote.model.result import TaskResult
from pacenote.units import format_seconds

TYPICAL_PROBES = (10, 30)
"""Numbers of probes of most searches."""


class ActivityListener:
    """Passes events on, with a name of what runs. The time left is that of the search, which is not known."""

    def __init__(self, listener: DriveListener, activity: str) -> None:
        self._listener = listener
        self._activity = activity

    def progress(self, progress: RaceProgress) -> None:
        """Reports the running task."""
        self._listener.progress(replace(progress, activity=self._activity, left=None))

    def task_finished(self, result: TaskResult) -> None:
        """Reports a task that has ended."""
        self._listener.task_finished(result)

    def warning(self, text: str) -> None:
        """Reports a problem."""
        self._listener.warning(text)


def probe_name(number: int, seconds: float) -> str:
    """Returns the name of a probe in the progress of a search, with its planned length in seconds."""
    fewest, most = TYPICAL_PROBES
    name = f"probe {number} of {fewest}–{most}" if number <= most else f"probe {number}"
    return f"{name} ({format_seconds(seconds)})"


def level_name(clients: int, repeat: int, repeats: int) -> str:
    """Returns the name of a measurement of the sweep in the progress of a search."""
    return f"sweep: {clients} client{'s' if clients > 1 else ''}, {repeat} of {repeats}"
