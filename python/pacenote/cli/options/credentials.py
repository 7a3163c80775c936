"""Credentials go only to an address from the same source: those in a file never to one in a more specific
file, which may be someone else's, nor to a flag's if the file has an address of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.cli.options.configured import ConfiguredOption

HOSTS, CLIENT_OPTIONS = "target-hosts", "client-options"
"""The option with addresses of clusters, and the one with the credentials for them."""

STORE_ADDRESS = (
    *("datastore.host", "datastore.port", "datastore.secure"),
    *("datastore.ssl.verification_mode", "datastore.ssl.certificate_authorities"),
)
"""The keys of `[reporting]` that say where its credentials go, and how well that is verified."""

STORE_CREDENTIALS = ("datastore.user", "datastore.password", "datastore.api_key")
"""The keys of `[reporting]` with credentials."""


class WithheldCredentials(Struct, frozen=True):
    """Credentials that are not used, because they belong to another address."""

    option: str
    """The option without dashes that the commands have which would use them."""

    text: str
    """The message."""


def separated_store(
    earlier: Mapping[str, str], sources: Mapping[str, Path], values: Mapping[str, str], file: Path
) -> tuple[dict[str, str], list[WithheldCredentials]]:
    """Returns `[reporting]` of less specific files without credentials if `values` of a file change the
    address; `sources` are the files of their keys.
    """
    moved = any(key in values and values[key] != earlier.get(key) for key in STORE_ADDRESS)
    withheld = [key for key in STORE_CREDENTIALS if moved and key in earlier]
    kept = {key: value for key, value in earlier.items() if key not in withheld}
    lost = [key for key in withheld if key not in values]
    if not lost:
        return kept, []
    text = (
        f"{lost[-1]} of {sources[lost[-1]]} is not used for the metrics store of {file}: give an address and "
        "its credentials in the same file, or the credentials in the environment"
    )
    return kept, [WithheldCredentials("metrics-store", text)]


def separated_clients(
    earlier: Mapping[str, ConfiguredOption], options: Mapping[str, ConfiguredOption]
) -> tuple[dict[str, ConfiguredOption], list[WithheldCredentials]]:
    """Returns less specific options without credentials of clusters if `options` name the hosts of another
    file than theirs. Raises UsageError for invalid client options.
    """
    hosts, before, clients = options.get(HOSTS), earlier.get(HOSTS), earlier.get(CLIENT_OPTIONS)
    if hosts is None or clients is None or hosts.file == clients.file:
        return dict(earlier), []
    if before is not None and before.value == hosts.value:
        return dict(earlier), []
    kept, withheld = _withheld(clients, f"the {HOSTS} of {hosts.file}")
    rest = {name: option for name, option in earlier.items() if name != CLIENT_OPTIONS}
    return rest | kept, [] if CLIENT_OPTIONS in options else withheld


def separated_flags(
    options: Mapping[str, ConfiguredOption], flags: frozenset[str]
) -> tuple[dict[str, ConfiguredOption], list[WithheldCredentials]]:
    """Returns configured options without credentials of clusters if flags name other hosts than the file of
    the credentials. Raises UsageError for invalid client options.
    """
    hosts, clients = options.get(HOSTS), options.get(CLIENT_OPTIONS)
    is_moved = HOSTS in flags and CLIENT_OPTIONS not in flags
    if not is_moved or hosts is None or clients is None or hosts.file != clients.file:
        return dict(options), []
    kept, withheld = _withheld(clients, f"--{HOSTS}")
    return {name: option for name, option in options.items() if name != CLIENT_OPTIONS} | kept, withheld


def _withheld(
    clients: ConfiguredOption, address: str
) -> tuple[dict[str, ConfiguredOption], list[WithheldCredentials]]:
    """Returns client options without credentials, if any are left, and a message if there were any."""
    # Most commands have no such options.
    from pacenote.cli.options.clients import without_credentials

    text = clients.value if isinstance(clients.value, str) else json.dumps(clients.value, default=str)
    rest, has_credentials = without_credentials(text, clients.origin)
    if not has_credentials:
        return {CLIENT_OPTIONS: clients}, []
    message = (
        f"credentials and headers in {clients.origin} are not used for {address}: give an address and its "
        "credentials in the same file, or the credentials with --client-options"
    )
    kept = {CLIENT_OPTIONS: replace(clients, value=rest)} if rest else {}
    return kept, [WithheldCredentials(CLIENT_OPTIONS, message)]
