"""The smallest sender posts every byte of its files over one connection per client."""

import gzip
import json
import random
import threading

import bulk_bodies
import pytest
from bulk_bodies import Bulks, DataFile
from outcome import BenchmarkError

from support.http_server import HttpResponse, http_server, json_response

pytestmark = pytest.mark.process


@pytest.fixture
def bulks(tmp_path):
    """Returns 11 documents of 200 kB in bulks of 2 by 3 clients."""
    path = tmp_path / "documents.json"
    path.write_bytes(b"".join(b'{"text": "%d%b"}\n' % (number, b"x" * 200_000) for number in range(11)))
    data = DataFile(path, 11, '{"index":{"_index":"logs"}}')
    (tmp_path / "bulks").mkdir()
    bodies = bulk_bodies.write_bodies(data, 3, 2, tmp_path / "bulks")
    return Bulks("/_bulk", {"content-type": "application/x-ndjson"}, tuple(map(tuple, bodies)))


def test_every_document_is_sent_once_in_the_order_of_its_client(tmp_path, bulks):
    threads = set()

    def respond(request):
        # The server has one thread for each connection; the identifier of one that has ended is used again.
        threads.add(threading.current_thread())
        # The reply is larger than the buffer of the sender.
        return json_response({"took": 1, "errors": False, "items": ["x" * 3_000_000]})

    # The sender looks for the text that the engine writes, without spaces.
    def compact(request):
        reply = respond(request)
        return HttpResponse(200, reply.body.replace(b'"errors": ', b'"errors":'), reply.headers)

    with http_server(compact) as server:
        sent = bulk_bodies.send(bulks, server.port, tmp_path)
    assert sent.seconds > 0
    assert len(threads) == 3
    bodies = [request.body for request in server.requests]
    assert sorted(bodies) == sorted(path.read_bytes() for paths in bulks.bodies for path in paths)
    lines = [line for body in bodies for line in body.splitlines()]
    assert sum(line == b'{"index":{"_index":"logs"}}' for line in lines) == 11
    numbers = [int(json.loads(line)["text"].rstrip("x")) for line in lines if b"text" in line]
    assert sorted(numbers) == list(range(11))
    assert {request.headers["content-type"] for request in server.requests} == {"application/x-ndjson"}


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (HttpResponse(429, b"{}"), "not a reply of a bulk with a length: http/1.1 429"),
        (HttpResponse(200, b'{"took":1,"errors":true}'), "a bulk failed"),
        (HttpResponse(200, b"", (("content-length", "10"),), close=True), "before the reply was complete"),
    ],
)
def test_a_bulk_that_fails_ends_the_benchmark(tmp_path, bulks, response, error):
    with http_server(lambda _: response) as server, pytest.raises(BenchmarkError, match=error):
        bulk_bodies.send(bulks, server.port, tmp_path)


@pytest.mark.parametrize("size", [10, 3_000_000])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_reply_in_chunks_is_checked_and_received_whole(tmp_path, bulks, size, compressed):
    def respond(failed):
        # Random digits stay large when they are compressed.
        filler = random.Random(1).randbytes(size).hex()
        reply = f'{{"errors":{failed},"items":["{filler}"]}}'.encode()
        reply = gzip.compress(reply) if compressed else reply
        parts = [reply[at : at + 8_192] for at in range(0, len(reply), 8_192)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))
        encoding = (("content-encoding", "gzip"),) if compressed else ()
        return HttpResponse(200, body, (("transfer-encoding", "chunked"), *encoding))

    good, bad = respond("false"), respond("true")
    with http_server(lambda _: good) as server:
        bulk_bodies.send(bulks, server.port, tmp_path)
    assert len(server.requests) == bulks.count
    with http_server(lambda _: bad) as server, pytest.raises(BenchmarkError, match="a bulk failed"):
        bulk_bodies.send(bulks, server.port, tmp_path)


def test_a_wrong_number_of_documents_is_an_error(tmp_path):
    path = tmp_path / "documents.json"
    path.write_text("{}\n{}\n")
    with pytest.raises(BenchmarkError, match="contains 2 documents, not 3"):
        bulk_bodies.write_bodies(DataFile(path, 3, "{}"), 1, 10, tmp_path)
