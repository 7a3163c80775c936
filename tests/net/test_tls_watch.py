"""Reads of TLS connections end, whatever the server sends."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.model.client_options import TlsOptions
from pacenote.net.hosts import HttpHost
from pacenote.net.http_pool import ClientConfig
from pacenote.net.rest import RestClient
from support.endless_tickets import endless_tickets
from support.http_server import HttpServer
from support.secure import CA, engine

TRUSTED = ClientConfig(tls=TlsOptions(ca_file=str(CA)))

pytestmark = pytest.mark.process


@pytest.mark.parametrize(("timeout_s", "reply_timeout_s"), [(1.0, 60.0), (60.0, 1.0)])
def test_a_server_that_sends_tickets_without_end_times_out(
    tmp_path: Path, timeout_s: float, reply_timeout_s: float
) -> None:
    with endless_tickets(tmp_path) as port:
        client = RestClient([HttpHost("https", "127.0.0.1", port)], timeout_s, TRUSTED, reply_timeout_s)
        began_s = time.monotonic()
        with pytest.raises(EngineError):
            client.get("/")
        assert time.monotonic() - began_s < 20
        client.close()


def test_the_thread_ends_with_the_last_response() -> None:
    server: HttpServer
    with engine() as server:
        client = RestClient([HttpHost("https", server.host, server.port)], 10.0, TRUSTED)
        for _ in range(3):
            assert client.get("/")
        client.close()
    deadline_s = time.monotonic() + 10
    while any(thread.name == "tls-watch" for thread in threading.enumerate()):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
