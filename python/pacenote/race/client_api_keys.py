"""API keys of the clients of a race (`create_api_key_per_client`), created before the load, deleted after."""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from msgspec.structs import replace

from pacenote.errors import EngineError, PacenoteError
from pacenote.model.codec import as_text
from pacenote.net.reply import FailedStatus, expected_form
from pacenote.net.rest import RestClient
from pacenote.plan.document import Plan
from pacenote.race.stop_signals import postponed
from pacenote.units import format_count

_PATH = "/_security/api_key"

_MAX_CHARACTERS = 1_000
"""Characters of the id or the secret of a key, at most; engines make those of 22."""

_HINT = (
    "it needs Elasticsearch with security enabled, and a user that may manage API keys; without "
    "create_api_key_per_client, all clients send the user's credentials"
)


@dataclass(frozen=True, slots=True)
class _ApiKey:
    """An API key of one client."""

    id: str
    """The key's id."""

    header: str = field(repr=False)
    """The value of the authorization header; secret."""


@contextmanager
def client_api_keys(plan: Plan, rest: RestClient, warn: Callable[[str], None]) -> Generator[Plan, None, None]:
    """Yields the plan with an API key for each of its clients. Deletes the keys after the block, however it
    ends.

    Raises EngineError if the cluster does not create them. `warn` is called if they cannot be deleted.
    """
    prefix = f"pacenote-{plan.race_id}-"
    keys: list[_ApiKey] = []
    try:
        for client in range(plan.clients):
            # A key whose id is not known could not be deleted.
            with postponed():
                keys.append(_create(rest, f"{prefix}{client}"))
        headers = tuple(("authorization", key.header) for key in keys)
        yield replace(plan, target=replace(plan.target, client_headers=headers))
    finally:
        if keys:
            # If a second Ctrl-C ended this, the keys would stay valid.
            with postponed():
                _delete(rest, [key.id for key in keys], prefix, warn)


def _create(rest: RestClient, name: str) -> _ApiKey:
    try:
        created = rest.request("POST", _PATH, {"name": name})
    except FailedStatus as error:
        raise EngineError(
            f"the cluster does not create API keys for the clients: {error.message}", hint=_HINT
        ) from None
    with expected_form("a new API key"):
        key_id, key = _short(created["id"]), _short(created["api_key"])
        secret = base64.b64encode(f"{key_id}:{key}".encode()).decode("ascii")
        return _ApiKey(key_id, f"ApiKey {secret}")


def _short(value: object) -> str:
    """Returns a part of a key. Raises TypeError and ValueError if it is none: each client sends it with each
    request.
    """
    text = as_text(value)
    if len(text) > _MAX_CHARACTERS:
        raise ValueError("a text that is longer than a part of an API key")
    return text


def _delete(rest: RestClient, ids: Sequence[str], prefix: str, warn: Callable[[str], None]) -> None:
    try:
        reply = rest.request("DELETE", _PATH, {"ids": ids})
        with expected_form("deleted API keys"):
            left = len(set(ids) - {*reply["invalidated_api_keys"], *reply["previously_invalidated_api_keys"]})
        reason = "the cluster reports errors"
    except PacenoteError as error:
        left, reason = len(ids), error.message
    if left:
        keys = format_count(left, "API key")
        warn(f"{keys} of the clients, whose names begin with {prefix}, could not be deleted: {reason}")
