"""Where the driver meets Python, as this package sees it: the core's `Lane`, whose stub says everything."""

from __future__ import annotations

from typing import Any, Protocol

Owner = tuple[int, int]
"""A task by its position in the plan, and one of its clients."""


class Lane(Protocol):
    """The driver's side. No call waits; all may come from any thread."""

    def fileno(self) -> int:
        """A descriptor that is readable while events are queued."""

    def events(self) -> list[tuple[Any, ...]]:
        """Takes all events, oldest first."""

    def prepared(self, step: int, error: str | None) -> None:
        """Answers `prepare`."""

    def supply(self, task: int, client: int, operation: str, body: bytes | None) -> bool:
        """Hands over the next operation of a client; False when there is no room."""

    def room(self, task: int, client: int) -> int:
        """How many operations can be handed over to a client now."""

    def end(self, task: int, client: int, error: str | None) -> None:
        """Says that a client has no more operations."""

    def due(self, token: int, offset_s: float | None) -> None:
        """Answers `next`."""

    def done(self, token: int, result: str) -> None:
        """Answers `run`."""

    def request(self, *parts: Any, **more: Any) -> int:
        """Sends a request (owner, cluster, method, target, headers, body, seconds); returns its ticket."""

    def execute(self, owner: Owner | None, cluster: str, operation: str, body: bytes | None) -> int:
        """Has an operation carried out by the driver; returns its ticket."""
