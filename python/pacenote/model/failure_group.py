"""Operations and documents that failed alike."""

from __future__ import annotations

from pacenote.model.codec import Integer, Name, Number, Stored
from pacenote.model.messages import DEFECT

OVERLOAD = (429, 502, 503, 504)
"""Statuses of an engine, or of a proxy before it, that cannot keep up."""

_UNANSWERED = ("timeout", "reset", "protocol")
"""Classes of requests that were sent, but have no reply from which their effect can be read."""

_REQUEST_TIMEOUT = 408

_SERVER_ERROR = 500
"""Lowest status with which a server, or a proxy before it, says that it failed."""

_TIMEOUTS = ("timeout", "search-timeout")
"""Classes of operations that were not answered in time, or only in part."""


class FailureGroup(Stored, frozen=True):
    """Failures of one class, status and kind."""

    error_class: Name
    """The class, for example `http-status`."""
    reason: str
    """The engine's error type and the reason of the first failure."""
    status: Integer | None
    """HTTP status, or None if there was none."""
    count: Integer
    """Number of operations or documents that failed, according to `unit`."""
    first_s: Number
    """Time of the first failure, in seconds since the task began."""
    last_s: Number
    """Time of the last failure, in seconds since the task began."""
    unit: Name = ""
    """What `count` counts: `operations`, or `documents` of bulks; empty in races of earlier versions."""

    @property
    def is_defect(self) -> bool:
        """Whether a built-in operation that runs in Python failed because of a defect of Pacenote, and not a
        plug-in of the track.
        """
        return self.error_class == "plugin" and self.reason.startswith(DEFECT)

    @property
    def is_overload(self) -> bool:
        """Whether the engine, or a proxy before it, could not keep up, for whatever reason."""
        return self.status in OVERLOAD or self.error_class in _TIMEOUTS

    @property
    def has_unknown_outcome(self) -> bool:
        """Whether the engine may have executed the requests nevertheless, because it did not answer, or a
        server failed after it may have received them.
        """
        if self.error_class == "http-status":
            return self.status is None or self.status == _REQUEST_TIMEOUT or self.status >= _SERVER_ERROR
        return self.error_class in _UNANSWERED

    @property
    def counted(self) -> str:
        """The noun, in the singular, for what `count` counts."""
        documents = self.unit == "documents" or (not self.unit and self.error_class == "bulk-item")
        return "document" if documents else "operation"

    @property
    def label(self) -> str:
        """A short name of the failures: their HTTP status or their class."""
        refused = self.error_class in ("http-status", "bulk-item")
        return f"HTTP {self.status}" if refused and self.status else self.error_class
