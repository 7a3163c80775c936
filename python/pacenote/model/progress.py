"""How a long job reports its progress: one callback, given by the caller that owns the screen."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, int, int], None]
"""Called with a label, the work done and the total, both in one unit; a total of 0 is not known."""


def no_progress(label: str, done: int, total: int) -> None:
    """Discards progress: the default where it is not shown."""
