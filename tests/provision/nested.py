"""Folders nested too deeply for code that calls itself for each of them."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

DEEP = 200
"""Depth for which `shallow_stack` has no room."""


@contextmanager
def shallow_stack() -> Generator[None, None, None]:
    """Lowers Python's limit of calls, so that folders need not be nested thousands of times."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def nested(folder: Path, depth: int) -> None:
    """Creates a folder with others in each other, a file in each, and a link out of it in the last."""
    folder.mkdir(exist_ok=True)
    current = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=current))
        os.mkdir("d", dir_fd=current)
        inner = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=current)
        os.close(current)
        current = inner
    os.symlink(folder.parent, "link", dir_fd=current)
    os.close(current)
