"""Control requests over TLS and through proxies, with real servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.cluster.cluster import existing_cluster
from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.net.url import basic_auth_header
from support.http_server import HttpServer
from support.secure import CA, CERTIFICATES, engine, proxy

TRUSTED = TlsOptions(ca_file=str(CA))
CLIENT, KEY = str(CERTIFICATES / "client.pem"), str(CERTIFICATES / "client.key")
ME = basic_auth_header("me", "s3cret")


@pytest.fixture(scope="module")
def secure() -> Iterator[HttpServer]:
    with engine() as running:
        yield running


@pytest.fixture(scope="module")
def strict() -> Iterator[HttpServer]:
    with engine(client=True) as running:
        yield running


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def version(hosts: str, tls: TlsOptions = TRUSTED, **more: object) -> str:
    with existing_cluster(hosts, ClientOptions(tls=tls, **more)) as cluster:  # type: ignore[arg-type]
        return cluster.info().version


@pytest.mark.parametrize(
    "tls",
    [
        TRUSTED,
        TlsOptions(verify=False, verify_host=False),
        TlsOptions(ca_file=str(CA), verify_host=False),
        TlsOptions(ca_file=str(CA), server_name="engine.example"),
        # The server's own certificate.
        TlsOptions(ca_file=str(CERTIFICATES / "server.pem")),
    ],
)
def test_tls_connections_succeed_with_suitable_options(secure: HttpServer, tls: TlsOptions) -> None:
    assert version(f"https://{secure.address}", tls) == "3.3.0"
    assert version(secure.address, tls, use_ssl=True) == "3.3.0"


@pytest.mark.parametrize(
    ("tls", "message", "hint"),
    [
        (TlsOptions(), "its TLS certificate is not trusted: ", "ca_certs:FILE"),
        (
            TlsOptions(ca_file=str(CA), server_name="other.example"),
            "its TLS certificate is for another name: ",
            "ssl_assert_hostname:false",
        ),
    ],
)
def test_an_untrusted_certificate_is_rejected_with_a_hint(
    secure: HttpServer, tls: TlsOptions, message: str, hint: str
) -> None:
    with pytest.raises(EngineError, match=f"reached at {secure.address}: {message}") as caught:
        version(f"https://{secure.address}", tls)
    assert hint in caught.value.hint


def test_a_host_name_mismatch_is_accepted_without_host_name_verification(secure: HttpServer) -> None:
    tls = TlsOptions(ca_file=str(CA), server_name="other.example", verify_host=False)
    assert version(f"https://{secure.address}", tls) == "3.3.0"


def test_an_expired_certificate_is_rejected() -> None:
    with (
        engine("expired.pem") as old,
        pytest.raises(EngineError, match=r"not valid now: .*expired") as caught,
    ):
        version(f"https://{old.address}")
    assert "renew it" in caught.value.hint


def test_a_client_certificate_is_presented(strict: HttpServer) -> None:
    shown = TlsOptions(ca_file=str(CA), client_cert=CLIENT, client_key=KEY)
    assert version(f"https://{strict.address}", shown) == "3.3.0"
    with pytest.raises(EngineError, match="it asks for a client certificate") as caught:
        version(f"https://{strict.address}")
    assert "client_cert:FILE" in caught.value.hint


def test_a_rejected_client_certificate_is_reported(strict: HttpServer) -> None:
    # This certificate is valid only for servers.
    wrong = TlsOptions(ca_file=str(CA), client_cert=str(CERTIFICATES / "server.pem"))
    with pytest.raises(EngineError, match="it does not accept the client certificate"):
        version(f"https://{strict.address}", wrong)


def test_a_port_without_tls_is_reported() -> None:
    with engine(None) as plain, pytest.raises(EngineError, match="the port does not speak TLS") as caught:
        version(f"https://{plain.address}")
    assert "http://" in caught.value.hint


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        (
            TlsOptions(ca_file="/no/ca.pem"),
            "ca_certs of --client-options cannot be used: /no/ca.pem: no such file",
        ),
        (TlsOptions(ca_file=KEY), "holds no certificate in PEM format"),
        (TlsOptions(client_cert="/no/c.pem"), "client_cert of .*: /no/c.pem: no such file"),
        (TlsOptions(client_cert=CLIENT), "client_cert of .*client.pem: it holds no private key"),
        (
            TlsOptions(client_cert=CLIENT, client_key=str(CERTIFICATES / "server.pem")),
            "client_key of .*server.pem: it is not the key of client_cert",
        ),
        (TlsOptions(client_cert=CLIENT, client_key="/no"), "client_key of .*: /no: no such file"),
    ],
)
def test_unusable_certificate_files_are_reported_before_any_request(tls: TlsOptions, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        existing_cluster("https://127.0.0.1:1", ClientOptions(tls=tls))


@pytest.mark.parametrize(
    ("label", "body", "message"),
    [
        ("ENCRYPTED PRIVATE KEY", "AAAA", "its key is encrypted"),
        ("PRIVATE KEY", "AAAA", "it cannot be read as PEM"),
    ],
)
def test_unusable_private_keys_are_reported(tmp_path: Path, label: str, body: str, message: str) -> None:
    key = tmp_path / "key.pem"
    key.write_text(f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    tls = TlsOptions(client_cert=CLIENT, client_key=str(key))
    with pytest.raises(UsageError, match=f"client_key of --client-options cannot be used: {key}: {message}"):
        existing_cluster("https://127.0.0.1:1", ClientOptions(tls=tls))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_remote_hosts_are_reached_through_the_proxy(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = "server.pem" if scheme == "https" else None
    with engine(certificate) as far, proxy(far, authorization=ME) as between:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://me:s3cret@{between.address}")
        cluster = existing_cluster(f"{scheme}://engine.example:9200", ClientOptions(tls=TRUSTED))
        assert cluster.info().version == "3.3.0"
        through = f"engine.example:9200 go through the proxy http://{between.address} of the environment"
        assert [through in caution for caution in cluster.warnings()][-1]
        line = "CONNECT engine.example:9200" if scheme == "https" else "GET http://engine.example:9200/"
        assert between.requests[0].line == line
        assert all("proxy-authorization" not in request.headers for request in far.requests)
        monkeypatch.setenv(f"{scheme}_proxy", f"http://{between.address}")
        with pytest.raises(EngineError, match="407") as caught:
            version(f"{scheme}://engine.example:9200")
        assert "in its URL" in caught.value.hint


def test_loopback_never_goes_through_a_proxy(secure: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert version(f"https://{secure.address}") == "3.3.0"
    assert existing_cluster(f"https://{secure.address}", ClientOptions(tls=TRUSTED)).warnings() == ()


def test_an_unreachable_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(
            EngineError, match=r"engine.example:9200 through the proxy http://127\.0\.0\.1:\d+: "
        ):
            version("engine.example")


def test_the_certificate_of_a_proxy_is_always_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    unverified = TlsOptions(
        ca_file=TRUSTED.ca_file, verify=False, verify_host=False, client_cert=CLIENT, client_key=KEY
    )
    with engine(None) as far, proxy(far, certificate="server.pem") as between:
        monkeypatch.setenv("http_proxy", f"https://{between.address}")
        assert version("es.example:9200", unverified) == "3.3.0"
        with pytest.raises(EngineError, match=f"through the proxy https://{between.address}: .*not trusted"):
            version("es.example:9200", TlsOptions(verify=False, verify_host=False))
