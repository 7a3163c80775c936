"""Records a real engine's responses as they are sent over the wire: `record.py HOST:PORT FOLDER`.

Writes one file per kind of response, including head and framing; the names of responses to HEAD start with
`head-`. Creates, uses and deletes the index `seeds`. Sends no request whose response would identify the
machine.

Files whose names end with `-chunked` are recorded responses that were converted to chunks, because only
engines newer than the recorded ones send chunks. `expected.json` contains the status, and the length and
CRC-32 of the body, that Python's HTTP client reads from each file.
"""

from __future__ import annotations

import gzip
import http.client
import io
import json
import socket
import sys
import zlib
from pathlib import Path

_JSON = "content-type: application/json\r\n"
_LINES = "content-type: application/x-ndjson\r\n"
_GZIP = "accept-encoding: gzip\r\n"


def bulk(first: int, number: object) -> bytes:
    """Returns a bulk of ten documents; the field `n` of the fifth is `number`."""
    lines = []
    for at in range(first, first + 10):
        lines.append(json.dumps({"index": {"_id": str(at)}}))
        lines.append(json.dumps({"n": number if at == first + 4 else at, "text": f"a reply of number {at}"}))
    return ("\n".join(lines) + "\n").encode()


SEARCH = json.dumps({"size": 15, "query": {"match": {"text": "reply"}}, "sort": ["n"]}).encode()
COUNTED = json.dumps({"size": 0, "aggs": {"tens": {"histogram": {"field": "n", "interval": 10}}}}).encode()

REQUESTS: tuple[tuple[str, str, str, bytes], ...] = (
    ("create-index", "PUT /seeds", _JSON, b'{"mappings":{"properties":{"n":{"type":"integer"}}}}'),
    ("head-missing", "HEAD /missing", "", b""),
    ("head-index", "HEAD /seeds", "", b""),
    ("head-index-gzip", "HEAD /seeds", _GZIP, b""),
    ("bulk", "POST /seeds/_bulk?refresh=true", _LINES, bulk(0, 4)),
    ("bulk-gzip", "POST /seeds/_bulk?refresh=true", _LINES + _GZIP, bulk(10, 14)),
    ("bulk-errors", "POST /seeds/_bulk?refresh=true", _LINES, bulk(20, "no number")),
    ("search", "POST /seeds/_search", _JSON, SEARCH),
    ("search-gzip", "POST /seeds/_search", _JSON + _GZIP, SEARCH),
    ("search-aggregation", "POST /seeds/_search", _JSON, COUNTED),
    ("bad-request", "POST /seeds/_search", _JSON, b'{"query":{"no_such_query":{}}}'),
    ("broken-json", "POST /seeds/_search", _JSON + _GZIP, b'{"query":'),
    ("not-found", "GET /missing/_search", "", b""),
    ("not-found-gzip", "GET /missing/_search", _GZIP, b""),
    ("not-allowed", "PATCH /seeds", _JSON, b"{}"),
    ("cat", "GET /_cat/indices/seeds?v&h=index,docs.count", "", b""),
    ("count", "GET /seeds/_count", "", b""),
    ("close", "GET /seeds/_count", "connection: close\r\n", b""),
    ("mapping-gzip", "GET /seeds/_mapping?pretty", _GZIP, b""),
    ("continue", "POST /seeds/_search", _JSON + "expect: 100-continue\r\n", COUNTED),
    ("delete-index", "DELETE /seeds", "", b""),
)


def exchange(address: tuple[str, int], line: str, headers: str, body: bytes) -> bytes:
    """Sends one request on a new connection; returns all bytes received until none arrive for a second."""
    head = f"{line} HTTP/1.1\r\nhost: {address[0]}\r\n{headers}"
    if body:
        head += f"content-length: {len(body)}\r\n"
    received = b""
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(f"{head}\r\n".encode() + body)
        while piece := _receive(connection):
            received += piece
            connection.settimeout(1)
    return received


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except TimeoutError:
        return b""


def chunked(response: bytes) -> bytes:
    """Converts a response to chunks of 300 bytes, in the form in which Netty writes them."""
    head, _, body = response.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
    pieces = [body[at : at + 300] for at in range(0, len(body), 300)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"\r\n".join([*lines, b"transfer-encoding: chunked", b"", chunks + b"0\r\n\r\n"])


class _Recorded:
    """Recorded bytes in place of the socket from which `http.client` reads."""

    def __init__(self, response: bytes) -> None:
        self._response = response

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._response)


def expected(name: str, recorded: bytes) -> dict[str, int]:
    """Returns a response's status, and its body's length and CRC-32, as Python's client reads them."""
    method = "HEAD" if name.startswith("head-") else "GET"
    response = http.client.HTTPResponse(_Recorded(recorded), method=method)  # type: ignore[arg-type]
    response.begin()
    body = response.read()
    if body and response.headers["content-encoding"] == "gzip":
        body = gzip.decompress(body)
    return {"status": response.status, "length": len(body), "crc32": zlib.crc32(body)}


def main() -> None:
    """Records every kind of response."""
    host, _, port = sys.argv[1].rpartition(":")
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    responses = {
        name: exchange((host, int(port)), line, headers, body) for name, line, headers, body in REQUESTS
    }
    for name in ("search", "search-gzip", "bulk-errors"):
        responses[f"{name}-chunked"] = chunked(responses[name])
    for name, response in responses.items():
        (folder / name).write_bytes(response)
    outcomes = {name: expected(name, responses[name]) for name in sorted(responses)}
    (folder / "expected.json").write_text(json.dumps(outcomes, indent=1) + "\n")


if __name__ == "__main__":
    main()
