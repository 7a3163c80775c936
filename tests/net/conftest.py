"""A fixture that runs a server with scripted responses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.http_server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer().running() as running:
        yield running
