"""How long a cluster may take for a phase of a capture, so that no server lets it run for ever: each reply is
complete within a minute, but a server may have any number of them.
"""

from __future__ import annotations

import time

from pacenote.errors import EngineError
from pacenote.units import format_seconds


class PhaseLimit:
    """The time that is left for a phase of a capture."""

    def __init__(self, what: str, limit_s: float, hint: str) -> None:
        """`what` is what the cluster has to have done within `limit_s` seconds."""
        self._what = what
        self._limit_s = limit_s
        self._hint = hint
        self._end = time.monotonic() + limit_s

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() > self._end

    def check(self) -> None:
        """Raises EngineError if no time is left."""
        if self.is_over:
            raise EngineError(
                f"the cluster has not {self._what} within {format_seconds(self._limit_s)}", hint=self._hint
            )
