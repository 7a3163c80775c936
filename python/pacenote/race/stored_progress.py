"""Stores how far the running tasks are in the folder of the race, for other processes."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from pacenote.model.race_listener import DriveListener
from pacenote.model.race_progress import RaceProgress
from pacenote.model.result import TaskResult
from pacenote.store.progress_file import ProgressFile
from pacenote.store.race_folder import RaceFolder

_INTERVAL_S = 0.9
"""Shortest time between two versions of the file; progress is reported about twice a second."""


@contextmanager
def storing_progress(listener: DriveListener, folder: RaceFolder) -> Generator[DriveListener, None, None]:
    """Yields a listener that stores progress and passes all events on. At the end, the file is removed."""
    file = ProgressFile(folder.path, folder.secrets)
    try:
        yield _StoringListener(listener, file)
    finally:
        file.close()


class _StoringListener:
    """Stores progress about once a second."""

    def __init__(self, listener: DriveListener, file: ProgressFile) -> None:
        self._listener = listener
        self._file = file
        self._stored_at = float("-inf")

    def progress(self, progress: RaceProgress) -> None:
        """Reports the running tasks."""
        now = time.monotonic()
        if now - self._stored_at >= _INTERVAL_S:
            self._stored_at = now
            self._file.write(progress)
        self._listener.progress(progress)

    def task_finished(self, result: TaskResult) -> None:
        """Reports a task that has ended."""
        self._listener.task_finished(result)

    def warning(self, text: str) -> None:
        """Reports a problem."""
        self._listener.warning(text)
