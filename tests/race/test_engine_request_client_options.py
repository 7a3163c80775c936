"""Client options for an engine that a race starts: without security, it has neither TLS nor credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Challenge, Track
from pacenote.race.engine_request import check_engine, engine_request, engine_warnings

SECURED = EngineOptions(
    distribution="elasticsearch",
    distribution_version="8.17.0",
    car=("x-pack-security",),
    archive=ArchiveOptions(location="elasticsearch.tar.gz"),
)
TLS = TlsOptions(verify=False, verify_host=False)


def request(client: ClientOptions, engine: EngineOptions | None = None, **more: str) -> RaceRequest:
    chosen = engine or EngineOptions()
    return RaceRequest(race_id="r", home=Path("/home"), client=client, engine=chosen, **more)


def warnings(given: RaceRequest) -> tuple[str, ...]:
    challenge = Challenge("c", ())
    return engine_warnings(
        given, Track("t", Path("/t"), (challenge,)), challenge, engine_request(given, Path("/x"))
    )


@pytest.mark.parametrize(
    ("option", "client"),
    [
        ("use_ssl", ClientOptions(use_ssl=True)),
        ("create_api_key_per_client", ClientOptions(api_key_per_client=True)),
    ],
)
def test_options_that_need_security_are_refused_without_it(option: str, client: ClientOptions) -> None:
    with pytest.raises(UsageError, match=f"--client-options: {option} needs an engine with security"):
        check_engine(request(client))
    check_engine(request(client, pipeline="benchmark-only"))
    check_engine(request(client, SECURED))


def test_options_without_effect_are_reported() -> None:
    for client in (ClientOptions(tls=TLS), ClientOptions(authorization="Basic x")):
        (text,) = warnings(request(client))
        assert text.startswith("--client-options: an engine without security uses plain HTTP")
        assert warnings(request(client, pipeline="benchmark-only")) == ()
    assert warnings(request(ClientOptions(use_ssl=False))) == ()
    assert warnings(request(ClientOptions(authorization="Basic x"), SECURED)) == ()
    (text,) = warnings(request(ClientOptions(tls=TLS), SECURED))
    assert text == "the TLS certificates of the nodes are not verified (verify_certs:false)"


def test_a_container_cannot_have_security() -> None:
    with pytest.raises((EngineError, UsageError), match="--pipeline=docker cannot have security"):
        check_engine(request(ClientOptions(), SECURED, pipeline="docker"))
