"""Servers whose responses go on, but make no progress: they end a download, and slow disks do not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pacenote.errors import DiskError
from pacenote.fetch import download
from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.download import Download, NotAvailable, download_file
from pacenote.fetch.http_file import DOWNLOAD_LIMITS, READ_TIMEOUT_S, HttpFile, TransientError
from pacenote.fetch.options import DownloadOptions, DownloadRetryPolicy
from pacenote.fetch.remote_file import resolve
from pacenote.fetch.retry import read_text
from pacenote.net.http_pool import ConnectionPools
from pacenote.net.reply_limits import ReplyLimits

pytestmark = pytest.mark.process

QUICK = ReplyLimits(stalled_s=0.5)
ONCE = DownloadRetryPolicy(first_attempts=1, attempts=1)
OK = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
LENGTH = 4_000


@contextmanager
def raw_server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Runs a server that calls `answer` with each connection once it has sent something."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            # Accepting fails when the listener is closed, and writing when the client closes the connection.
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        connection.recv(65536)
                        answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield "http://{}:{}/a.json".format(*listener.getsockname())
        listener.shutdown(socket.SHUT_RDWR)


def going_on(before: bytes, part: bytes, after: bytes) -> Callable[[socket.socket], None]:
    """Returns a function that sends a part again and again, for seconds, between the two others.

    The response is complete in the end, so that only a limit can make it fail.
    """

    def answer(connection: socket.socket) -> None:
        end = time.monotonic() + 5
        connection.sendall(before)
        while time.monotonic() < end:
            connection.sendall(part)
            time.sleep(0.01)
        connection.sendall(after)

    return answer


STALLED = [
    pytest.param(
        going_on(b"", b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"content-length: 1\r\n\r\nx"), id="interim"
    ),
    pytest.param(going_on(CHUNKED + b"1\r\nx\r\n0\r\n", b"x: y\r\n", b"\r\n"), id="trailers"),
    pytest.param(
        going_on(CHUNKED, b"1;" + b"x" * 30_000 + b"\r\nx\r\n", b"0\r\n\r\n"), id="extensions of chunks"
    ),
]


def get(url: str, folder: Path, limits: ReplyLimits = QUICK) -> bytes:
    target = folder / "a.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(download, "DOWNLOAD_LIMITS", limits)
        download_file(Download(target, (resolve(url),)), lambda *_: None, DownloadOptions(retry=ONCE))
    return target.read_bytes()


@pytest.mark.parametrize("answer", STALLED)
def test_a_response_without_progress_ends_a_download(
    tmp_path: Path, answer: Callable[[socket.socket], None]
) -> None:
    with raw_server(answer) as url, pytest.raises(NotAvailable, match="the response timed out"):
        get(url, tmp_path)


@pytest.mark.parametrize("answer", STALLED)
def test_a_small_file_without_progress_is_an_error(answer: Callable[[socket.socket], None]) -> None:
    pools = ConnectionPools(1, QUICK)
    with raw_server(answer) as url, pytest.raises(TransientError, match="the response timed out"):
        read_text(HttpFile(resolve(url), pools), ONCE, Cancellation())
    pools.close()


@pytest.mark.parametrize("size", [b"-1", b"-2"])
def test_a_chunk_of_a_negative_size_ends_a_download(tmp_path: Path, size: bytes) -> None:
    # Up to the end, such a chunk would have any size.
    response = CHUNKED + b"1\r\nx\r\n" + size + b"\r\n" + b"x" * 10_000
    pools = ConnectionPools(1, QUICK)
    with raw_server(lambda connection: connection.sendall(response)) as url:
        with pytest.raises(NotAvailable, match="the response is not HTTP"):
            get(url, tmp_path)
        with pytest.raises(TransientError, match="the response is not HTTP"):
            read_text(HttpFile(resolve(url), pools), ONCE, Cancellation())
    pools.close()


@pytest.mark.parametrize("framing", ["content-length: 100000", "x: y"])
def test_a_body_that_arrives_byte_by_byte_ends_a_download(tmp_path: Path, framing: str) -> None:
    answer = going_on(OK + framing.encode() + b"\r\n\r\n", b"x", b"x" * 100_000)
    with raw_server(answer) as url, pytest.raises(NotAvailable, match="the response timed out"):
        # At most 100 bytes per second.
        get(url, tmp_path)


def endless(before: bytes, part: bytes) -> Callable[[socket.socket], None]:
    """Returns a function that sends parts without end, at most 256 MiB so that a test ends."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(before)
        for _ in range((256 << 20) // len(part)):
            connection.sendall(part)

    return answer


ENDLESS = [
    pytest.param(endless(OK + b"\r\n", b"x" * 100_000), id="until the end of the connection"),
    pytest.param(endless(CHUNKED, b"20000\r\n" + b"x" * 0x20000 + b"\r\n"), id="in chunks"),
]


@pytest.mark.parametrize("answer", ENDLESS)
def test_a_body_without_end_is_received_up_to_the_expected_size(
    tmp_path: Path, answer: Callable[[socket.socket], None]
) -> None:
    with raw_server(answer) as url:
        wanted = Download(tmp_path / "a.json", (resolve(url),), 300_000)
        with pytest.raises(NotAvailable, match="the server sends more than the expected 300,000 bytes"):
            download_file(wanted, lambda *_: None, DownloadOptions(retry=ONCE))


@pytest.mark.parametrize("answer", ENDLESS)
def test_a_body_without_end_does_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[socket.socket], None]
) -> None:
    def check(folder: Path, needed: int, what: str) -> None:
        written = sum(file.stat().st_blocks * 512 for file in folder.iterdir())
        if written + needed > 150 << 20:
            raise DiskError(f"no room for {what}", hint="")

    monkeypatch.setattr(download, "check_free_space", check)
    with raw_server(answer) as url, pytest.raises(DiskError, match=r"no room for a\.json"):
        get(url, tmp_path)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 200 << 20


def test_a_body_that_arrives_slowly_but_steadily_is_complete(tmp_path: Path) -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(OK + b"content-length: %d\r\n\r\n" % (20 * LENGTH))
        for _ in range(20):
            time.sleep(0.05)
            connection.sendall(b"x" * LENGTH)

    with raw_server(answer) as url:
        assert get(url, tmp_path) == b"x" * 20 * LENGTH


def test_a_slow_disk_is_not_a_slow_server() -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(OK + b"content-length: 20\r\n\r\n")
        for _ in range(2):
            connection.sendall(b"x" * 10)
            assert is_written.acquire(timeout=10)

    is_written = threading.Semaphore(0)
    pools = ConnectionPools(1, QUICK)
    with raw_server(answer) as url:
        body = HttpFile(resolve(url), pools).get().body
        for _ in range(2):
            assert body.read(10) == b"x" * 10
            # Longer than the time in which a server must make progress.
            time.sleep(2 * QUICK.stalled_s)
            is_written.release()
    pools.close()


@pytest.mark.parametrize(("bytes_per_s", "is_read"), [(700, False), (5_000, True)])
def test_a_body_must_make_progress_at_a_rate(tmp_path: Path, bytes_per_s: int, is_read: bool) -> None:
    """The bytes that the stream received count once, although a read of the body returns them later."""
    interval_s, size = 0.02, 8_000 if is_read else 1_400

    def answer(connection: socket.socket) -> None:
        connection.sendall(OK + f"content-length: {size}\r\n\r\n".encode())
        part = int(bytes_per_s * interval_s)
        for begin in range(0, size, part):
            connection.sendall(b"x" * min(part, size - begin))
            time.sleep(interval_s)

    with raw_server(answer) as url:
        if is_read:
            assert get(url, tmp_path) == b"x" * size
        else:
            with pytest.raises(NotAvailable, match="timed out"):
                get(url, tmp_path)


def test_a_server_that_prepares_a_body_after_its_head_has_time_for_it(tmp_path: Path) -> None:
    def answer(connection: socket.socket) -> None:
        time.sleep(0.6 * QUICK.stalled_s)
        connection.sendall(OK + b"content-length: 1\r\n\r\n")
        time.sleep(0.6 * QUICK.stalled_s)
        connection.sendall(b"x")

    with raw_server(answer) as url:
        assert get(url, tmp_path) == b"x"


def test_downloads_have_the_limit_of_the_silence_between_two_parts() -> None:
    assert DOWNLOAD_LIMITS.stalled_s == READ_TIMEOUT_S
