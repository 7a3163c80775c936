"""Certificates are made that TLS implementations accept, for the nodes of one cluster only."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.security.certificates import ClusterCertificates, check_openssl, make_certificates

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def made() -> ClusterCertificates:
    return make_certificates(["rally-node-0", "a/b $ü"])


def handshake(made: ClusterCertificates, folder: Path, authority: str, name: str = "127.0.0.1") -> None:
    """Has two nodes connect as in the transport layer: both present a certificate, and both verify it."""
    contexts = []
    for index, node in enumerate(made.nodes.values()):
        file = folder / f"{index}.pem"
        file.write_text(node.certificate + node.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if index else ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        context.load_verify_locations(cadata=authority if index else made.authority)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.verify_mode = ssl.CERT_REQUIRED
        contexts.append(context)
    ends = socket.socketpair()

    def serve() -> None:
        with ends[0], contexts[0].wrap_socket(ends[0], server_side=True) as stream:
            stream.sendall(b"hello")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with ends[1], contexts[1].wrap_socket(ends[1], server_hostname=name) as stream:
            assert stream.recv(5) == b"hello"
    finally:
        ends[1].close()
        thread.join()


@pytest.mark.parametrize("name", ["127.0.0.1", "::1", "localhost"])
def test_nodes_verify_each_other(made: ClusterCertificates, tmp_path: Path, name: str) -> None:
    handshake(made, tmp_path, made.authority, name)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_certificates_of_other_clusters_and_for_other_hosts_are_refused(
    made: ClusterCertificates, tmp_path: Path
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="verify failed"):
        handshake(made, tmp_path, make_certificates([]).authority)
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(made, tmp_path, made.authority, "example.org")


def test_keys_are_not_shown(made: ClusterCertificates) -> None:
    assert "BEGIN PRIVATE KEY" in made.nodes["rally-node-0"].key
    assert "PRIVATE KEY" not in repr(made)


def test_a_missing_or_failing_openssl_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="the program openssl is not installed") as caught:
        check_openssl()
    assert caught.value.hint == "install openssl, or leave security off"
    with pytest.raises(EngineError, match=r"openssl cannot make a certificate: .*No such file"):
        make_certificates(["n"])
    (tmp_path / "openssl").write_text("#!/bin/sh\necho first >&2; echo unknown option >&2; exit 1\n")
    (tmp_path / "openssl").chmod(0o755)
    check_openssl()
    with pytest.raises(EngineError, match=r"openssl cannot make a certificate: unknown option$"):
        make_certificates(["n"])
