"""Chooses how progress is shown: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from pacenote.cli.console import Console
from pacenote.model.race_listener import RaceListener


@contextmanager
def progress_listener(console: Console) -> Generator[RaceListener, None, None]:
    """Yields the listener for the kind of console, and restores the terminal at the end of the block."""
    # Both are imported here because --help needs neither.
    if console.quiet or not console.shows_progress_on_terminal:
        from pacenote.cli.output.plain_progress import PlainListener

        yield PlainListener(console)
        return
    from pacenote.cli.output.live_progress import LiveListener

    listener = LiveListener(console)
    try:
        yield listener
    finally:
        listener.close()
