"""What every process that runs tests does first."""

from __future__ import annotations

import gc
import os

# Threads of the linear algebra in NumPy would compete with the tests of other processes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Everything that is imported and collected is kept, so there is nothing to collect meanwhile.
gc.disable()


def pytest_collection_finish() -> None:
    """Excludes the collected tests from garbage collection, which would visit them in every test."""
    gc.freeze()
    gc.enable()
