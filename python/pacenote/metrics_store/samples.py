"""The samples of a race, read from its folder in batches, so that memory does not depend on their number."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pacenote.errors import StoreError

_BATCH_ROWS = 16_384


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
        """Opens the file. Raises StoreError if it cannot be read."""
        self._path = path
        try:
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise StoreError(
                "reading samples needs pyarrow, which is not installed", hint="`pip install pyarrow`"
            ) from None
        try:
            self._file = parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot read {path}: {_reason(error)}") from error

    def __iter__(self) -> Iterator[StoredSample]:
        """Yields the samples in the order of the file. Raises StoreError if it is damaged."""
        columns = list(StoredSample._fields)
        try:
            for batch in self._file.iter_batches(batch_size=_BATCH_ROWS, columns=columns, use_threads=False):
                found = {name: batch.column(name).to_pylist() for name in columns}
                yield from map(StoredSample._make, zip(*found.values(), strict=True))
        except (OSError, ValueError, KeyError) as error:
            raise StoreError(f"cannot read {self._path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
