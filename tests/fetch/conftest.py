"""Fixtures that run file servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.file_server import FileServer, file_server


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server() as running:
        yield running


@pytest.fixture
def other() -> Iterator[FileServer]:
    with file_server() as running:
        yield running
