"""How long work tells what it is doing: one callback, given by whoever owns the screen."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a label, what is done and what there is in total (same unit; a total of 0 is unknown)."""


def silent(label: str, done: int, total: int) -> None:
    """Take progress and show nothing: the default where nobody watches."""
