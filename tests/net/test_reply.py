"""Servers whose replies never end, are huge, or have an unexpected form."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from pacenote.cluster.info import read_info
from pacenote.errors import EngineError
from pacenote.model.node_names import NodeNames
from pacenote.net import reply
from pacenote.net.hosts import HttpHost
from pacenote.net.reply import (
    LARGE_BODY_BYTES,
    MAX_BODY_BYTES,
    MAX_DEPTH,
    one_large_reply_at_a_time,
    parse_body,
)
from pacenote.net.rest import RestClient
from support.http_server import ScriptedServer

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@contextmanager
def raw_server(answer: Callable[[socket.socket], object]) -> Iterator[RestClient]:
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
        rest = RestClient([HttpHost("http", *listener.getsockname())], timeout_s=0.1, reply_timeout_s=0.1)
        yield rest
        rest.close()
        listener.shutdown(socket.SHUT_RDWR)


def forever(part: bytes, pause_s: float = 0.0) -> Callable[[socket.socket], None]:
    def send(connection: socket.socket) -> None:
        while True:
            connection.sendall(part)
            time.sleep(pause_s)

    return send


def after(head: bytes, then: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        connection.sendall(head)
        then(connection)

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(after(OK + b"content-length: 9999\r\n\r\n", forever(b" ", 0.01)), id="body"),
        pytest.param(
            after(OK + b"transfer-encoding: chunked\r\n\r\n", forever(b"1\r\n \r\n", 0.01)), id="chunks"
        ),
        pytest.param(after(OK + b"x: ", forever(b"x", 0.01)), id="header"),
        pytest.param(forever(b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), id="interim"),
        pytest.param(lambda connection: connection.recv(1), id="silence"),
    ],
)
def test_a_reply_that_arrives_byte_by_byte_ends_at_the_deadline(
    answer: Callable[[socket.socket], None],
) -> None:
    with raw_server(answer) as rest, pytest.raises(EngineError, match="the response timed out"):
        rest.get("/")


@pytest.mark.parametrize(
    "head", [b"\r\n", b"content-length: 99999999999\r\n\r\n"], ids=["until the end", "with a length"]
)
def test_a_reply_without_end_is_read_up_to_the_limit(head: bytes) -> None:
    sent = 0

    def answer(connection: socket.socket) -> None:
        nonlocal sent
        connection.sendall(OK + head)
        while True:
            sent += connection.send(b" " * 1_000_000)

    with raw_server(answer) as rest:
        rest = RestClient(rest.hosts)
        with pytest.raises(
            EngineError, match=r"the reply of 127\.0\.0\.1:\d+ to GET / is larger than 64 MiB"
        ):
            rest.get("/")
    # What the sockets hold is sent, but not read.
    assert sent < MAX_BODY_BYTES + 32_000_000


@pytest.mark.parametrize("size", [b"-1", b"-2", b"-ffffffff"])
def test_a_chunk_of_a_negative_size_is_an_error(size: bytes) -> None:
    # Up to the end, such a chunk would have any size.
    chunk = OK + b"transfer-encoding: chunked\r\n\r\n1\r\n[\r\n" + size + b"\r\n"
    with (
        raw_server(lambda connection: connection.sendall(chunk + b" " * 10_000)) as rest,
        pytest.raises(EngineError, match="the response is not HTTP"),
    ):
        rest.get("/")


def repeated(byte: bytes, count: int) -> bytes:
    """Returns this many equal bytes, compressed as several members, which takes less time than one."""
    whole, rest = divmod(count, 1 << 20)
    return gzip.compress(byte * (1 << 20)) * whole + gzip.compress(byte * rest)


def test_a_reply_is_limited_after_decompression(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 4 << 20
    monkeypatch.setattr(reply, "MAX_BODY_BYTES", limit)
    bomb = repeated(b" ", limit + 1)
    assert len(bomb) < 10_000
    largest = gzip.compress(b'"') + repeated(b"x", limit - 2) + gzip.compress(b'"')
    server.put("/bomb", bomb, **{"content-encoding": "gzip"})
    server.put("/twice", gzip.compress(bomb), **{"content-encoding": "gzip, gzip"})
    server.put("/largest", largest, **{"content-encoding": "gzip"})
    server.put("/broken", b"no gzip", **{"content-encoding": "gzip"})
    rest = RestClient([HttpHost("http", "127.0.0.1", server.port)])
    for path in ("/bomb", "/twice"):
        with pytest.raises(EngineError, match=f"to GET {path} is larger than 4 MiB"):
            rest.get(path)
    assert len(rest.get("/largest")) == limit - 2
    with pytest.raises(EngineError, match="the response cannot be decompressed"):
        rest.get("/broken")


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
def test_a_document_that_is_too_deep_is_rejected(server: ScriptedServer, depth: int) -> None:
    server.put("/deep", b'{"a":' * (depth - 1) + b"[]" + b"}" * (depth - 1))
    half = MAX_DEPTH // 2
    server.put("/deepest", b'[{"a":' * half + b"1" + b"}]" * half)
    rest = RestClient([HttpHost("http", "127.0.0.1", server.port)])
    with pytest.raises(EngineError, match=f"is nested more than {MAX_DEPTH} levels deep"):
        rest.get("/deep")
    assert list(rest.get("/deepest")[0]) == ["a"]


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        {"n": None},
        {"n": {"os": []}},
        {"n": {"jvm": {"mem": {"heap_max_in_bytes": "much"}}}},
        {"n": {"plugins": 7}},
        {"n": {"os": {"allocated_processors": float("inf")}}},
        {"n": {"os": {"allocated_processors": 2**63}}},
        {"n": {"jvm": {"mem": {"heap_max_in_bytes": "9" * 4000}}}},
        {"n": {"jvm": {"mem": {"heap_max_in_bytes": 10**99}}}},
    ],
)
def test_a_reply_of_an_unexpected_form_is_described_in_one_sentence(
    server: ScriptedServer, nodes: object
) -> None:
    server.put("/", {"cluster_name": "c", "version": {"number": "3.3.0", "distribution": "opensearch"}})
    server.put("/_nodes/os,jvm,plugins", {"nodes": nodes})
    rest = RestClient([HttpHost("http", "127.0.0.1", server.port)])
    with pytest.raises(EngineError, match="has an unexpected form") as caught:
        read_info(rest, NodeNames())
    assert "\n" not in caught.value.message


def test_half_of_a_surrogate_pair_in_a_document_is_replaced(server: ScriptedServer) -> None:
    server.put("/half", rb'{"a\ud800": ["\udc80", "\ud83d\ude00", "\\ud800", 1]}')
    rest = RestClient([HttpHost("http", "127.0.0.1", server.port)])
    assert rest.get("/half") == {"a\ufffd": ["\ufffd", "😀", r"\ud800", 1]}


def test_replacing_halves_of_surrogate_pairs_does_not_copy_a_document() -> None:
    values = b"[1000]," * 100_000 + b"1]"

    def peak(body: bytes) -> int:
        tracemalloc.start()
        try:
            assert len(parse_body(body)) == 100_002
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(b'["\\ud800",' + values) < 1.1 * peak(b'["a",' + values)


def test_threads_read_large_replies_one_after_the_other(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = json.dumps("x" * LARGE_BODY_BYTES).encode()
    server.put("/large", large)
    server.put("/small", large[4:])
    rest = RestClient([HttpHost("http", "127.0.0.1", server.port)])
    outcomes = list[str]()

    def read(path: str) -> None:
        with one_large_reply_at_a_time():
            try:
                outcomes.append(f"{path} {len(rest.get(path))}")
            except EngineError as error:
                outcomes.append(error.message)

    def read_on_a_thread(path: str) -> threading.Thread:
        thread = threading.Thread(target=read, args=(path,))
        thread.start()
        return thread

    monkeypatch.setattr(reply, "LARGE_BODY_WAIT_S", 0.05)
    with one_large_reply_at_a_time():
        with one_large_reply_at_a_time():
            rest.get("/large")
        rest.get("/large")
        for path in ("/large", "/small"):
            read_on_a_thread(path).join()
        monkeypatch.setattr(reply, "LARGE_BODY_WAIT_S", 60.0)
        waiting = read_on_a_thread("/large")
        # Replies of threads that do not share them are as large as they may be.
        assert len(rest.get("/large")) == LARGE_BODY_BYTES
        assert len(outcomes) == 2
    waiting.join()
    assert outcomes[0].endswith("GET /large is larger than 1 MiB, and others were being read for 0.05 s")
    assert outcomes[1:] == [f"/small {len(large) - 4}", f"/large {LARGE_BODY_BYTES}"]
