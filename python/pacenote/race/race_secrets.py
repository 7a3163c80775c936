"""The secrets that the user of a race has given, so that they are neither stored nor shown."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from pacenote.model.client_options import ClientOptions
from pacenote.model.race_request import RaceRequest
from pacenote.model.secrets import is_secret, secret_values, url_secrets
from pacenote.net.proxy import environment_proxies

_MIN_HEADER_LENGTH = 8
"""Minimum length of the value of a header that is redacted elsewhere, unless the name shows that it is
secret.
"""

_MIN_LENGTH = 4


def race_secrets(request: RaceRequest) -> frozenset[str]:
    """Returns the secrets of the options and of the environment: parameters, credentials, headers, and user
    information of URLs.
    """
    return given_secrets(
        (
            request.track_params,
            request.engine.car_params,
            request.engine.plugin_params,
            request.engine.overrides.texts,
            request.user_tags,
        ),
        _urls(request),
        (request.client, *(other.client for other in request.additional_clusters)),
    )


def given_secrets(
    params: Iterable[Mapping[str, object]], urls: Iterable[str], clients: Iterable[ClientOptions]
) -> frozenset[str]:
    """Returns the secrets of parameters, of URLs with or without a scheme, of client options and of the
    proxies of the environment.
    """
    secrets = set[str]()
    for param in params:
        secrets |= secret_values(param)
    for url in (*urls, *environment_proxies()):
        secrets |= url_secrets(url if "://" in url else f"http://{url}")
        secrets.update(_basic_credentials(url))
    for client in clients:
        secrets.update(_client_secrets(client))
    return frozenset(secrets)


def _urls(request: RaceRequest) -> Iterator[str]:
    yield from request.target_hosts
    for other in request.additional_clusters:
        yield from other.hosts
    yield from request.corpus_mirrors
    team, archive = request.engine.team, request.engine.archive
    yield from (archive.location or "", *archive.mirrors, *archive.distributions.values())
    yield from (request.engine.maven_mirror or "", request.track_repository or "", team.repository or "")
    yield from (*request.repository_urls.values(), *team.urls.values())
    yield request.engine.source.source_path if request.engine.source else ""


def _basic_credentials(url: str) -> Iterator[str]:
    """Yields the credentials of a URL as an HTTP header contains them."""
    info, mark, _ = url.rpartition("://")[2].partition("/")[0].rpartition("@")
    if mark:
        yield base64.b64encode(unquote(info if ":" in info else f"{info}:").encode()).decode("ascii")


def _client_secrets(client: ClientOptions) -> Iterator[str]:
    kind, _, value = (client.authorization or "").rpartition(" ")
    if len(value) >= _MIN_LENGTH:
        yield value
        if kind.lower() in ("basic", "apikey"):
            yield from _decoded(value)
    for name, text in client.headers:
        if len(text) >= (_MIN_LENGTH if is_secret(name) else _MIN_HEADER_LENGTH):
            yield text


def _decoded(value: str) -> Iterator[str]:
    """Yields the password of basic authentication, or the key of an API key."""
    try:
        password = base64.b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return
    if len(password) >= _MIN_LENGTH:
        yield password
