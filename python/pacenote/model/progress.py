"""Progress of a long job: one callback, provided by the caller that owns the terminal."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, int, int], None]
"""Called with a label, the work done and the total, both in one unit; a total of 0 means unknown."""


def no_progress(label: str, done: int, total: int) -> None:
    """Ignores progress; the default where it is not shown."""
