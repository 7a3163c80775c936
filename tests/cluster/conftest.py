"""A server with prepared answers for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.http_server import Server, http_server


@pytest.fixture
def server() -> Iterator[Server]:
    with http_server() as running:
        yield running
