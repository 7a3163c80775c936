"""Downloads follow redirects, but never from https to http."""

from __future__ import annotations

import ssl
import time

import pytest

from pacenote.fetch import http_file
from pacenote.fetch.http_file import HttpFile, RequestRejected
from pacenote.fetch.remote_file import resolve
from pacenote.model.client_options import TlsOptions
from pacenote.net.http_pool import ClientConfig, ConnectionPools
from support.http_server import HttpRequest, HttpResponse, http_server
from support.secure import CA, CERTIFICATES


def test_a_redirect_from_https_to_http_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    asked: list[str] = []

    def respond(request: HttpRequest) -> HttpResponse:
        asked.append(request.target)
        return HttpResponse(200, b"content")

    with http_server(respond) as plain, http_server(respond, tls=context) as secure:
        pools = ConnectionPools(1, http_file.DOWNLOAD_LIMITS, ClientConfig(tls=TlsOptions(ca_file=str(CA))))
        for place, is_followed in ((f"https://{secure.address}", True), (f"http://{plain.address}", False)):

            def redirect(_: HttpRequest, place: str = place) -> HttpResponse:
                return HttpResponse(302, headers=(("location", f"{place}/there"),))

            with http_server(redirect, tls=context) as first:
                file = HttpFile(resolve(f"https://{first.address}/here"), pools)
                if is_followed:
                    assert file.get().body.read() == b"content"
                else:
                    with pytest.raises(RequestRejected, match="redirects from https to http"):
                        file.get()
        pools.close()
    assert asked == ["/there"]


def test_the_body_of_a_redirect_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_file, "READ_TIMEOUT_S", 2.0)

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/there":
            return HttpResponse(200, b"content")
        # The rest of the body never arrives.
        return HttpResponse(302, headers=(("location", "/there"), ("content-length", "100")))

    with http_server(respond) as server:
        pools = ConnectionPools(1, http_file.DOWNLOAD_LIMITS)
        start = time.monotonic()
        assert HttpFile(resolve(f"{server.url}/here"), pools).get().body.read() == b"content"
        pools.close()
    assert time.monotonic() - start < 1.5


@pytest.mark.parametrize(
    "place", ["http://[no-address/", "//[::g]/", "http://127.0.0.1:99999/", "http://%zz/"]
)
@pytest.mark.parametrize("is_secure", [False, True])
def test_a_redirect_to_no_url_is_refused_without_its_address(place: str, is_secure: bool) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    place = place.replace("http:", "https:") if is_secure else place

    def respond(request: HttpRequest) -> HttpResponse:
        return HttpResponse(302, headers=(("location", place + request.target),))

    with http_server(respond, tls=context if is_secure else None) as server:
        pools = ConnectionPools(1, http_file.DOWNLOAD_LIMITS, ClientConfig(tls=TlsOptions(ca_file=str(CA))))
        scheme = "https" if is_secure else "http"
        file = HttpFile(resolve(f"{scheme}://{server.address}/here?token=s3cr3t"), pools)
        with pytest.raises(RequestRejected) as caught:
            file.get()
        pools.close()
    assert str(caught.value) == "the server redirects to an address that is not a URL of http or https"
