"""Copies of the process that a plug-in forks and that return from the plug-in's code."""

from __future__ import annotations

import os


class ProcessGuard:
    """Ends copies of the process in which it was created.

    If a plug-in calls `os.fork` and the copy returns, the copy would run the race a second time, on the
    descriptors of the first.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()

    def end_if_copied(self) -> None:
        """Ends this process at once if it is a copy."""
        if os.getpid() != self._pid:
            os._exit(0)
