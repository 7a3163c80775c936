"""Every HTTP client of Pacenote has the limits of `ConnectionPools` for the responses of servers."""

from __future__ import annotations

import re

from shape.sources import PACKAGE

_CLIENTS = re.compile(
    r"\burlopen\(|\bHTTPS?Connection\(|\b(?:Pool|Proxy)Manager\(|\bClientSession\(|"
    r"\bhttpx\.|\brequests\.(?:get|post|head|request|Session)\("
)


def test_only_connection_pools_create_http_clients() -> None:
    modules = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if _CLIENTS.search(path.read_text("utf-8"))
    }
    # The limits are mandatory there.
    assert modules == {"net/http_pool.py"}
