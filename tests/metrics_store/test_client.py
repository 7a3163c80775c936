"""A store that is down, slow, busy, not trusted, or refuses credentials, on real sockets."""

from __future__ import annotations

import socket
import ssl
import threading

import pytest

from pacenote.metrics_store.client import StoreClient, StoreRetries, StoreUnavailable
from pacenote.metrics_store.settings import StoreSettings
from pacenote.model.client_options import TlsOptions
from support.http_server import HttpResponse, json_response
from support.metrics_store import fake_store
from support.secure import CA, CERTIFICATES


def policy(waits: list[float]) -> StoreRetries:
    return StoreRetries(sleep=waits.append)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def test_a_store_that_is_down_is_named_after_four_attempts():
    waits: list[float] = []
    port = free_port()
    client = StoreClient(StoreSettings(host="127.0.0.1", port=port), policy(waits))
    with pytest.raises(
        StoreUnavailable, match=f"cannot be reached at 127.0.0.1:{port}: connection refused"
    ) as e:
        client.request("GET", "/")
    assert "datastore.host" in e.value.hint
    assert [round(wait, 0) >= expected for wait, expected in zip(waits, (1, 2, 4), strict=True)] == [True] * 3


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_requests_are_repeated_while_the_store_is_busy(status):
    left = [HttpResponse(status), HttpResponse(status)]
    waits: list[float] = []
    with fake_store(answer=lambda request: left.pop() if left else None) as store:
        client = StoreClient(store.settings(), policy(waits))
        assert client.request("GET", "/") == store.root
        assert (len(store.requests), len(waits)) == (3, 2)


def test_a_store_that_remains_busy_is_reported_with_status_and_reason():
    busy = json_response({"error": {"type": "t", "reason": "queue full"}}, 429)
    with fake_store(answer=lambda request: busy) as store:
        with pytest.raises(StoreUnavailable, match="GET /x with status 429: queue full"):
            store.client().request("GET", "/x")
        assert len(store.requests) == 4


def test_a_slow_store_is_given_up():
    release = threading.Event()

    def slow(request):
        release.wait(5)

    with fake_store(answer=slow) as store:
        client = StoreClient(store.settings(), StoreRetries(attempts=1), timeout_s=0.1)
        with pytest.raises(StoreUnavailable, match="the response timed out"):
            client.request("GET", "/")
        release.set()


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_reported_at_once_and_never_shown(status):
    def refuse(request):
        return json_response({"error": {"reason": f"bad: {request.headers.get('authorization')}"}}, status)

    with fake_store(answer=refuse) as store:
        client = store.client(authorization="ApiKey c2VjcmV0c2VjcmV0", credentials="api_key")
        message = rf"refuses the credentials of \[reporting\] datastore.api_key \(status {status} for GET /\)"
        with pytest.raises(StoreUnavailable, match=message) as error:
            client.request("GET", "/")
        assert "c2VjcmV0" not in error.value.message + error.value.hint
        assert len(store.requests) == 1
        with pytest.raises(StoreUnavailable, match="refuses requests without credentials"):
            store.client().request("GET", "/")


def test_a_reason_of_the_store_contains_no_credentials():
    def refuse(request):
        return json_response({"error": {"reason": f"bad: {request.headers['authorization']}"}}, 400)

    with fake_store(answer=refuse) as store:
        client = store.client(authorization="ApiKey c2VjcmV0c2VjcmV0", credentials="api_key")
        with pytest.raises(StoreUnavailable, match="status 400") as error:
            client.request("GET", "/")
        assert "c2VjcmV0" not in error.value.message


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    return context


def test_a_certificate_must_be_trusted():
    with fake_store(tls=server_context()) as store:
        with pytest.raises(StoreUnavailable, match="cannot be reached at") as error:
            store.client(secure=True).request("GET", "/")
        assert "datastore.ssl.certificate_authorities" in error.value.hint
        for tls in (TlsOptions(ca_file=str(CA)), TlsOptions(verify=False)):
            assert store.client(secure=True, tls=tls).request("GET", "/") == store.root
        with pytest.raises(StoreUnavailable, match=r"certificate_authorities: .*/missing.pem"):
            store.client(secure=True, tls=TlsOptions(ca_file="/missing.pem")).request("GET", "/")


def test_a_port_that_speaks_tls_is_explained():
    with fake_store(tls=server_context()) as store:
        with pytest.raises(StoreUnavailable, match="cannot be reached") as error:
            store.client().request("GET", "/")
        assert "datastore.secure=true" in error.value.hint
