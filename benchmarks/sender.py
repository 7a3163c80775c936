"""The smallest sender of bulks: posts files over kept connections, and does nothing else.

    python sender.py CONFIGURATION

The configuration is JSON: `port`, `path`, `headers` and `clients`, a list of files for each client. Each
client is a thread with one connection. The kernel copies a file to its socket, so a body passes through no
buffer of this program. Prints JSON: `seconds`, from the first request to the last reply, and `requests`.

Exits with an error if a reply has a status other than 200, or does not state that it has no errors.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_BUFFER = 1 << 20
_NO_ERRORS = b'"errors":false'
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_SHOWN = 300


def main(path: str) -> None:
    """Sends all bulks and prints the duration."""
    configuration: Mapping[str, Any] = json.loads(Path(path).read_text())
    clients: Sequence[Sequence[str]] = configuration["clients"]
    ready = threading.Barrier(len(clients))
    with ThreadPoolExecutor(len(clients)) as threads:
        times = list(threads.map(lambda files: _client(configuration, files, ready), clients))
    seconds = max(ended for _, ended in times) - min(began for began, _ in times)
    print(json.dumps({"seconds": seconds, "requests": sum(map(len, clients))}))


def _client(
    configuration: Mapping[str, Any], files: Sequence[str], ready: threading.Barrier
) -> tuple[float, float]:
    """Sends the files one after another; returns when it began and ended."""
    port = configuration["port"]
    lines = [f"POST {configuration['path']} HTTP/1.1", f"host: 127.0.0.1:{port}"]
    lines += [f"{name}: {value}" for name, value in configuration["headers"].items()]
    sizes = [Path(file).stat().st_size for file in files]
    heads = [("\r\n".join([*lines, f"content-length: {size}"]) + "\r\n\r\n").encode() for size in sizes]
    opened = [os.open(file, os.O_RDONLY) for file in files]
    buffer = memoryview(bytearray(_BUFFER))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ready.wait()
        began = time.monotonic()
        for head, size, body in zip(heads, sizes, opened, strict=True):
            # The kernel sends the head with the beginning of the body.
            connection.sendall(head, socket.MSG_MORE)
            sent = 0
            while sent < size:
                sent += os.sendfile(connection.fileno(), body, sent, size - sent)
            _receive(connection, buffer)
        ended = time.monotonic()
    for body in opened:
        os.close(body)
    return began, ended


def _receive(connection: socket.socket, buffer: memoryview) -> None:
    """Receives a reply and checks its first bytes."""
    filled, end = 0, -1
    while end < 0:
        filled += _receive_some(connection, buffer[filled:])
        end = bytes(buffer[:filled]).find(b"\r\n\r\n")
    head = bytes(buffer[:end]).lower()
    fields = dict(line.split(b":", 1) for line in head.split(b"\r\n")[1:])
    chunked = b"chunked" in fields.get(b"transfer-encoding", b"")
    if not head.startswith(b"http/1.1 200 ") or not (chunked or b"content-length" in fields):
        status = head.partition(b"\r\n")[0].decode("latin-1")
        sys.exit(f"not a reply of a bulk with a length: {status}")
    body = end + 4
    if chunked:
        start = _receive_chunks(connection, buffer, body, filled)
    else:
        start = _receive_length(connection, buffer, body, filled, int(fields[b"content-length"]))
    if b"gzip" in fields.get(b"content-encoding", b""):
        start = zlib.decompressobj(wbits=31).decompress(start)
    if _NO_ERRORS not in start:
        sys.exit(f"a bulk failed: {start.decode('utf-8', 'replace')}")


def _receive_length(
    connection: socket.socket, buffer: memoryview, body: int, filled: int, length: int
) -> bytes:
    """Receives a body of a known length, and returns its beginning."""
    while filled < body + min(length, _SHOWN):
        filled += _receive_some(connection, buffer[filled:])
    start = bytes(buffer[body : body + min(length, _SHOWN)])
    missing = body + length - filled
    while missing > 0:
        missing -= _receive_some(connection, buffer[: min(missing, _BUFFER)])
    return start


def _receive_chunks(connection: socket.socket, buffer: memoryview, body: int, filled: int) -> bytes:
    """Receives a body in chunks, and returns the beginning of the first one.

    Nothing follows the last chunk, since a client sends one request at a time.
    """
    while filled < body + _SHOWN and not bytes(buffer[:filled]).endswith(_LAST_CHUNK):
        filled += _receive_some(connection, buffer[filled:])
    start = bytes(buffer[body : min(filled, body + _SHOWN)]).partition(b"\r\n")[2]
    ending = bytes(buffer[max(0, filled - len(_LAST_CHUNK)) : filled])
    while ending != _LAST_CHUNK:
        received = _receive_some(connection, buffer)
        ending = (ending + bytes(buffer[max(0, received - len(_LAST_CHUNK)) : received]))[-len(_LAST_CHUNK) :]
    return start


def _receive_some(connection: socket.socket, buffer: memoryview) -> int:
    received = connection.recv_into(buffer)
    if not received:
        sys.exit("the connection was closed before the reply was complete")
    return received


if __name__ == "__main__":
    main(sys.argv[1])
