"""Reads from the samples of a race how much of the service time the engine reports as its own."""

from __future__ import annotations

import json
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.model.engine_time import EngineTime

MOST_GROUPS = 64
"""Largest number of row groups of `samples.parquet` that are read: 8 million operations."""

MOST_SAMPLES = 500_000
"""About the largest number of samples that are read, spread over them: enough for the mean of many tasks."""


def engine_times(file: Path) -> dict[str, EngineTime]:
    """Returns the times by task, of tasks for which the engine reports any. Raises StoreError if the file
    does not exist or cannot be read.
    """
    from pacenote import _core  # Not needed for imported races.

    try:
        document = json.loads(_core.engine_times(file, MOST_GROUPS, MOST_SAMPLES))
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    return {task: EngineTime(**times) for task, times in document.items()}
