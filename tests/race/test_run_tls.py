"""Races with TLS, credentials and proxies, from the command line to the race record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from pacenote.net.url import basic_auth_header
from support.http_server import HttpServer
from support.secure import CA, CERTIFICATES, engine, proxy

pytestmark = pytest.mark.process

ME = basic_auth_header("me", "hunter2hunter2")
CREDENTIALS = "basic_auth_user:me,basic_auth_password:hunter2hunter2"

RaceOutcome = tuple[int, str, dict[str, Any]]


@pytest.fixture(scope="module")
def secure() -> Iterator[HttpServer]:
    with engine(authorization=ME) as running:
        yield running


@pytest.fixture
def run_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., RaceOutcome]:
    """Runs a race with one search; returns the exit code, standard error and the record, or {}."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "pacenote_client_options"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    search = {"operation-type": "search", "index": "books", "body": {"query": {"match_all": {}}}}
    schedule = [{"operation": search, "clients": 2, "iterations": 5}]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))

    def run(hosts: str, options: str) -> RaceOutcome:
        code = main([
            *("race", f"--track-path={tmp_path / 'track.json'}", "--race-id=r", f"--target-hosts={hosts}"),
            f"--client-options={options}",
        ])
        kept = tmp_path / "home" / "races" / "r" / "race.json"
        return code, capsys.readouterr().err, json.loads(kept.read_text()) if kept.exists() else {}

    return run


def searches(running: HttpServer) -> list[dict[str, str]]:
    return [request.headers for request in running.requests if "/books/_search" in request.line]


def test_a_race_uses_the_certificate_authority_and_credentials(
    run_race: Callable[..., RaceOutcome], secure: HttpServer
) -> None:
    secure.requests.clear()
    code, err, record = run_race(f"https://{secure.address}", f"{CREDENTIALS},ca_certs:{CA}")
    # On a busy host, the race is suspect for reasons other than TLS.
    assert code == 0, err
    assert record["verdict"]["state"] in {"valid", "suspect"}
    assert {headers["authorization"] for headers in searches(secure)} == {ME}
    assert len(searches(secure)) == 10
    client = record["client"]
    assert (client["tls"], client["certificates_verified"], client["authentication"]) == (True, True, "basic")
    assert "warning" not in err


def test_an_unknown_certificate_authority_is_an_error(
    run_race: Callable[..., RaceOutcome], secure: HttpServer
) -> None:
    code, err, record = run_race(f"https://{secure.address}", CREDENTIALS)
    assert (code, record) == (64, {})
    assert (
        f"error: the cluster cannot be reached at {secure.address}: its TLS certificate is not trusted" in err
    )
    assert "hint: give the certificate of its authority as --client-options=ca_certs:FILE" in err


def test_unverified_certificates_cause_a_warning_and_are_recorded(
    run_race: Callable[..., RaceOutcome], secure: HttpServer
) -> None:
    code, err, record = run_race(secure.address, f"{CREDENTIALS},use_ssl:true,verify_certs:false")
    assert code == 0, err
    assert f"warning: the TLS certificate of {secure.address} is not verified (verify_certs:false)" in err
    assert record["client"]["certificates_verified"] is False


def test_ssl_assert_hostname_sets_the_expected_name_in_the_certificate(
    run_race: Callable[..., RaceOutcome], secure: HttpServer
) -> None:
    options = f"{CREDENTIALS},ca_certs:{CA},ssl_assert_hostname"
    assert run_race(f"https://{secure.address}", f"{options}:engine.example")[0] == 0


def test_a_client_certificate_is_sent(run_race: Callable[..., RaceOutcome]) -> None:
    shown = f"client_cert:{CERTIFICATES / 'client.pem'},client_key:{CERTIFICATES / 'client.key'}"
    with engine(client=True) as choosy:
        code, err, record = run_race(f"https://{choosy.address}", f"ca_certs:{CA},{shown}")
        assert (code, len(searches(choosy))) == (0, 10), err
    assert record["client"]["client_certificate"] is True


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_race_goes_through_a_proxy(
    scheme: str, run_race: Callable[..., RaceOutcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine("server.pem" if scheme == "https" else None) as far, proxy(far, ME) as between:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://me:hunter2hunter2@{between.address}")
        options = f"ca_certs:{CA}" if scheme == "https" else ""
        code, err, record = run_race(f"{scheme}://engine.example:9200", options)
        assert (code, len(searches(far))) == (0, 10), err
        assert all("proxy-authorization" not in headers for headers in searches(far))
        assert f"go through the proxy http://{between.address} of the environment" in err
        assert record["client"]["proxies"] == {"engine.example:9200": f"http://{between.address}"}
