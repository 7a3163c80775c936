"""Whether an engine can have security is checked first; then its nodes and its clients are configured."""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient, UntrustedCertificate
from pacenote.provision import fleet
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.cluster_access import ClusterAccess
from pacenote.provision.engine_program import NodeSetup
from pacenote.provision.node import Node
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.security import secured_cluster
from pacenote.provision.security.certificates import ClusterCertificates, NodeCertificate
from pacenote.provision.security.secured_cluster import (
    SecurityRequest,
    check_security,
    remove_client_options,
    secure,
    write_client_options,
)
from pacenote.provision.security.secured_program import SecuredProgram
from provision.archives.test_archive_program import program_in, setup_in
from support.secure import CA, CERTIFICATES, engine

MODULE = {"modules/x-pack-security/": ""}
HTTP, TRANSPORT = "xpack.security.http.ssl.", "xpack.security.transport.ssl."
ON = {"xpack.security.enabled": "true"}


@pytest.fixture(autouse=True)
def ready_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates that need no time; others are tested in `test_certificates.py`."""
    made = ClusterCertificates(CA.read_text(), {"n": NodeCertificate("the certificate", "the key")})
    monkeypatch.setattr(secured_cluster, "make_certificates", lambda _: made)


def asked(client: ClientOptions = ClientOptions(), **settings: object) -> SecurityRequest:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return SecurityRequest(Car(settings={**ON, **named}), client)


def node_in(folder: Path, request: SecurityRequest) -> NodeSetup:
    for name in ("config", "data", "logs", "tmp"):
        (folder / "node" / name).mkdir(parents=True)
    settings = {"node.name": "n", **request.car.settings}
    return setup_in(folder / "node", folder / "home", settings=settings)


def secured_in(folder: Path, request: SecurityRequest) -> tuple[SecuredProgram, ClusterAccess, NodeSetup]:
    program = program_in(folder / "tree", more=MODULE)
    secured, access = secure(program, request, ["n"], folder / "artifacts")
    assert isinstance(secured, SecuredProgram)
    return secured, access, node_in(folder, request)


def test_both_layers_get_certificates_and_clients_the_authority(tmp_path: Path) -> None:
    program, access, setup = secured_in(tmp_path, asked())
    settings, certs = program.settings(setup), setup.paths.config / "certs"
    for prefix in (HTTP, TRANSPORT):
        layer = {name.removeprefix(prefix): settings[name] for name in settings if name.startswith(prefix)}
        assert layer == {
            "enabled": True,
            "key": str(certs / "node.key"),
            "certificate": str(certs / "node.crt"),
            "certificate_authorities": [str(certs / "ca.crt")],
        }
    assert settings["xpack.security.authc.realms.file.file1.order"] == 0
    assert settings["xpack.security.authc.token.enabled"] is False
    program.complete(setup)
    assert stat.S_IMODE((certs / "node.key").stat().st_mode) == 0o600
    assert (setup.paths.config / "users").read_text().startswith("rally:{PBKDF2}")
    authority = tmp_path / "artifacts" / "http_ca.crt"
    assert (certs / "ca.crt").read_text() == authority.read_text()
    assert access.scheme == "https"
    assert access.clients == access.starting
    assert access.clients.tls == TlsOptions(str(authority))


def test_settings_of_car_and_user_are_kept(tmp_path: Path) -> None:
    own = {f"{HTTP}enabled": "false", "xpack.security.authc.realms.native.own.order": "0"}
    program, access, setup = secured_in(tmp_path, asked(**own))
    settings = program.settings(setup)
    assert settings[f"{HTTP}enabled"] == "false"
    assert f"{HTTP}key" not in settings
    assert f"{TRANSPORT}key" in settings
    assert "xpack.security.authc.realms.file.file1.order" not in settings
    assert access.scheme == "http"
    assert access.clients.has_credentials


def test_certificates_of_the_user_are_copied_to_where_the_engine_reads_them(tmp_path: Path) -> None:
    server = str(CERTIFICATES / "server.pem")
    own: dict[str, object] = {
        f"{HTTP}key": server,
        f"{HTTP}certificate": server,
        f"{TRANSPORT}keystore.path": "own.p12",
    }
    request = asked(ClientOptions(tls=TlsOptions(str(CA), verify_host=False)), **own)
    program, access, setup = secured_in(tmp_path, request)
    program.complete(setup)
    settings = program.settings(setup)
    key = Path(str(settings[f"{HTTP}key"]))
    assert key.is_relative_to(setup.paths.config)
    assert key.read_text() == Path(server).read_text()
    assert settings[f"{TRANSPORT}keystore.path"] == "own.p12"
    assert not (setup.paths.config / "certs" / "node.key").exists()
    assert program.certificates is None
    assert access.starting.tls == access.clients.tls == request.client.tls
    assert not access.is_own_certificate
    assert not (tmp_path / "artifacts").exists()


def test_the_authorities_that_the_user_sets_are_those_of_the_clients(tmp_path: Path) -> None:
    own = dict.fromkeys((f"{HTTP}key", f"{HTTP}certificate"), str(CERTIFICATES / "server.pem"))
    request = asked(**own, **{f"{HTTP}certificate_authorities": [str(CA), "more.pem"]})
    check_security("elasticsearch", request, assembled=False)
    program, access, setup = secured_in(tmp_path, request)
    copied, more = program.settings(setup)[f"{HTTP}certificate_authorities"]  # type: ignore[misc]
    assert (Path(copied).name, more) == ("ca.pem", "more.pem")
    assert Path(access.clients.tls.ca_file or "").read_text() == CA.read_text()


def test_client_options_of_the_user_override_the_others(tmp_path: Path) -> None:
    client = ClientOptions(authorization="ApiKey own", tls=TlsOptions(verify=False, verify_host=False))
    _, access, _ = secured_in(tmp_path, asked(client))
    assert dict(access.clients.headers) == {"authorization": "ApiKey own"}
    assert not access.clients.tls.verify
    # Nodes are started with what Pacenote has made.
    assert dict(access.starting.headers)["authorization"].startswith("Basic ")
    assert access.starting.tls.verify


def test_the_client_options_of_a_started_cluster_are_only_for_the_user(tmp_path: Path) -> None:
    request = SecurityRequest(
        compose_car(["x-pack-security"], {"xpack_security_user_password": "other-word"}), ClientOptions()
    )
    _, access, _ = secured_in(tmp_path, request)
    write_client_options(access, request)
    file = tmp_path / "artifacts" / "client-options.json"
    assert not file.exists()
    for _ in range(2):
        write_client_options(replace(access, options_file=file), request)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["default"] == {
        "use_ssl": True,
        "verify_certs": True,
        "ca_certs": access.clients.tls.ca_file,
        "basic_auth_user": "rally",
        "basic_auth_password": "other-word",
    }
    remove_client_options(tmp_path / "artifacts")
    assert not list((tmp_path / "artifacts").iterdir())


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (asked(ClientOptions(use_ssl=False)), "use_ssl:false .* contradicts .*enabled=true"),
        (asked(ClientOptions(use_ssl=True), **{f"{HTTP}enabled": False}), "use_ssl:true .*enabled=false"),
        (asked(**{f"{HTTP}keystore.path": "x.p12"}), "keystore.path gives the certificate .* not its auth"),
        (asked(**{f"{HTTP}key": "/no/such.key"}), "http.ssl.key: /no/such.key cannot be read"),
        (asked(ClientOptions(tls=TlsOptions("/no/ca"))), "ca_certs of --client-options cannot be used"),
    ],
)
def test_what_cannot_work_is_refused_before_the_engine_starts(
    request_: SecurityRequest, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        check_security("elasticsearch", request_, assembled=False)
    assert "\n" not in caught.value.message


def test_without_security_nothing_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    off = SecurityRequest(Car(settings={"xpack.security.enabled": "false"}), ClientOptions(use_ssl=False))
    check_security("elasticsearch", off, assembled=True)
    assert (off.enabled, off.secrets) == (False, frozenset())
    with pytest.raises(EngineError, match="openssl is not installed"):
        check_security("elasticsearch", asked(), assembled=False)


def test_an_archive_without_security_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="the archive has no security: it lacks modules/x-pack-security"):
        secure(program_in(tmp_path / "tree"), asked(), ["n"], tmp_path)


@dataclass
class NodeAt:
    """What a health check needs of a node."""

    spec: NodeSpec
    session: int = 0


def test_another_certificate_is_that_of_another_engine_unless_the_user_gives_it() -> None:
    given = ClusterAccess(is_own_certificate=False)
    spec = NodeSpec("elasticsearch", "8.17.0")
    with engine() as running:
        client = RestClient([HttpHost("https", "127.0.0.1", running.port)])
        health = fleet._health(cast(Node, NodeAt(spec)), client, 1)
        assert health.problem == "another engine answers at its port"
        with pytest.raises(UntrustedCertificate, match="its TLS certificate is not trusted"):
            fleet._health(cast(Node, NodeAt(replace(spec, access=given))), client, 1)
