"""Counts the open files of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def unchanged_descriptors() -> Iterator[None]:
    """Asserts that what is done meanwhile leaves no file open."""
    before = _open_files()
    assert before
    yield
    assert _open_files() == before


def _open_files() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}
