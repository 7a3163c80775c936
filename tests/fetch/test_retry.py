"""Small files are read within limits of size and time."""

from __future__ import annotations

import pytest

from pacenote.fetch import http_file, retry
from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.http_file import HttpFile, RequestRejected, TransientError
from pacenote.fetch.options import DownloadRetryPolicy
from pacenote.fetch.remote_file import resolve
from pacenote.net.http_pool import ConnectionPools
from support.file_server import FileServer


def read(server: FileServer) -> str | None:
    pools = ConnectionPools(1, http_file.DOWNLOAD_LIMITS)
    try:
        file = HttpFile(resolve(f"{server.url}/a.sha512"), pools)
        return retry.read_text(file, DownloadRetryPolicy(first_attempts=1), Cancellation())
    finally:
        pools.close()


def test_a_small_file_is_read_and_a_larger_one_is_rejected(server: FileServer) -> None:
    server.content = b"a" * (1 << 20)
    assert read(server) == "a" * (1 << 20)
    server.content += b"a"
    with pytest.raises(RequestRejected, match=r"larger than 1\.0 MiB"):
        read(server)


@pytest.mark.parametrize("framing", ["content-length", "transfer-encoding"])
def test_a_response_that_does_not_end_is_an_error(
    server: FileServer, monkeypatch: pytest.MonkeyPatch, framing: str
) -> None:
    monkeypatch.setattr(http_file, "READ_TIMEOUT_S", 2.0)
    monkeypatch.setattr(retry, "_TEXT_TIMEOUT_S", 0.05)
    server.headers = {framing: {"content-length": "100", "transfer-encoding": "chunked"}[framing]}
    server.content = b"5\r\nabcde\r\n"
    with pytest.raises(TransientError, match="did not arrive in time"):
        read(server)
