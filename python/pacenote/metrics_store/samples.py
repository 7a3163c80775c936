"""The samples of a race, read from its folder in parts, so that memory does not depend on their number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pacenote import _core
from pacenote.errors import StoreError

_ROWS = 4096
"""Number of samples that are Python objects at the same time."""


class StoredSample(NamedTuple):
    """One row of `samples.parquet`, as far as Rally's documents need it.

    Not a dataclass, because races have millions of samples, and a tuple is made faster.
    """

    task: str
    """Name of the task."""

    operation: str
    """Name of its operation."""

    operation_type: str
    """Type of the operation."""

    part: bool
    """Whether it is a sub-operation of a composite operation."""

    client: int
    """Number of the client within the task."""

    sample_type: str
    """`warmup` or `normal`."""

    due_ns: int
    """When the operation was due, in nanoseconds since the task began."""

    sent_ns: int
    """When its first request was sent, in nanoseconds since the task began."""

    done_ns: int
    """When its last reply had arrived, in nanoseconds since the task began."""

    processing_ns: int
    """Duration of the whole operation in the driver, in nanoseconds."""

    success: bool
    """Whether the operation succeeded."""

    status: int
    """HTTP status of the last reply, or 0 if there was none."""

    error_class: str
    """Why the operation failed; empty for a success."""

    details: str | None
    """What the operation reported besides, as a JSON object, or None."""


class SampleFile:
    """`samples.parquet` of a race."""

    def __init__(self, path: Path) -> None:
        """`path` is the file."""
        self._path = path

    def __iter__(self) -> Iterator[StoredSample]:
        """Yields the samples in the order of the file. Raises StoreError if it cannot be read."""
        try:
            reader = _core.SampleReader(self._path)
            while rows := reader.next_rows(_ROWS):
                yield from map(StoredSample._make, rows)
        except _core.CoreError as error:
            raise StoreError(str(error)) from error
