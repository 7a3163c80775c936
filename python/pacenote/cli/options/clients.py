"""`--client-options`: how to connect to clusters, from the command line and from the environment.

`PACENOTE_CLIENT_OPTIONS` has the same form; the command line overrides it key by key. Secrets may be in
files: `basic_auth_password:@/run/secrets/elastic`. Messages never show a value, which may be a password.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Collection, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pacenote.cli.options.values import DEFAULT_CLUSTER
from pacenote.cli.parser import similar
from pacenote.errors import UsageError
from pacenote.model.client_options import ACCEPT_ENCODING, NO_TIMEOUT_S, ClientOptions, TlsOptions
from pacenote.track.params import parse_dict

if TYPE_CHECKING:
    from pacenote.model.work import Headers

OPTION = "--client-options"

VARIABLE = "PACENOTE_CLIENT_OPTIONS"

HELP = f"how to connect, as k:v,k2:v2, JSON or a .json file, for example timeout:60 (default: ${VARIABLE})"

_ALIASES = {
    "request_timeout": "timeout",
    "compressed": "http_compress",
    "http_auth": "basic_auth",
    "bearer_token": "bearer_auth",
    "connections_per_node": "max_connections",
    "maxsize": "max_connections",
    "randomize_hosts": "randomize_nodes_in_node_pool",
    "sniffer_timeout": "min_delay_between_sniffing",
    "sniff_on_connection_fail": "sniff_on_node_failure",
}
"""Other names of options, used by Rally and elasticsearch-py."""

_CREDENTIALS = ("basic_auth_user", "basic_auth_password", "basic_auth", "api_key", "bearer_auth")
_FILES = ("ca_certs", "client_cert", "client_key")
_FOR_ONE_HOST = frozenset({
    *(*_CREDENTIALS, "create_api_key_per_client", "client_cert", "client_key", "headers", "opaque_id"),
})
"""Options that may be secret, and are only meant for the hosts that they were given for."""

_READ = (
    *("timeout", "use_ssl", "verify_certs", *_FILES, "ssl_assert_hostname"),
    *(*_CREDENTIALS, "create_api_key_per_client", "headers", "opaque_id", "http_compress"),
)
_WITHOUT_EFFECT = ("max_connections", "enable_cleanup_closed", "ssl_show_warn")
"""A client has one connection and closes it itself, and unverified certificates are always reported."""

_IGNORED = {
    ("max_retries", "retry_on_timeout", "retry_on_status"): "requests are never retried silently",
    (
        *("sniff_on_start", "sniff_before_requests", "sniff_on_node_failure", "sniff_timeout"),
        *("min_delay_between_sniffing", "sniffed_node_callback", "host_info_callback"),
    ): "requests go to the hosts of --target-hosts",
    (
        *("randomize_nodes_in_node_pool", "dead_node_backoff_factor", "max_dead_node_backoff"),
        *("node_selector_class", "node_pool_class"),
    ): "each client uses the hosts in turn, and sets one that fails aside for 1 to 30 s",
    (
        *("node_class", "transport_class", "serializer", "serializers", "default_mimetype"),
        *("meta_header", "ssl_version", "ssl_context"),
    ): "the driver has its own HTTP client",
}
"""Options of elasticsearch-py that are accepted with a warning, and why they have no effect."""

_REFUSED = {
    "static_responses": (
        "a race without a network would measure something else",
        "race against a server with fixed responses: give its address with --target-hosts",
    ),
    "ssl_assert_fingerprint": (
        "fingerprints are not supported",
        "give the certificate, or the one of its authority, as ca_certs",
    ),
    "cloud_id": (
        "it is another form of the hosts",
        "give the URL of the deployment with --target-hosts",
    ),
}
"""Options of Rally or elasticsearch-py that are refused: why, and what to do instead."""

_KNOWN = (*_READ, *_WITHOUT_EFFECT, *chain.from_iterable(_IGNORED), *_REFUSED)
_TEXTS = (*_CREDENTIALS, *_FILES, "opaque_id", "http_auth", "bearer_token")
_SWITCHED_OFF: tuple[object, ...] = (None, False, 0, "false", [], (), "")

_MAX_SECRET_CHARS = 65_536
"""Maximum length of a credential or header that is read from a file; engines accept much shorter ones."""

_NAME = re.compile(r"[a-z][a-z_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VISIBLE = re.compile(r"[\x20-\x7e]+")
_RESERVED_HEADERS = ("connection", "content-length", "host", "te", "transfer-encoding")
"""Headers that the driver sets itself."""

_ACCEPTED_ENCODINGS = ("gzip", "identity")
"""Content encodings of replies that the driver decodes."""


class ClientOptionsByCluster(Struct, frozen=True):
    """The client options that the user has given."""

    clusters: Mapping[str, ClientOptions]
    """Options by name of the cluster."""

    named: bool
    """Whether the user has named the clusters."""

    def for_clusters(self, clusters: Collection[str]) -> dict[str, ClientOptions]:
        """Returns the options of each cluster of `--target-hosts`.

        Raises UsageError if they name other clusters.
        """
        if not self.clusters:
            return dict.fromkeys(clusters, ClientOptions())
        if set(self.clusters) != set(clusters):
            # Options without a name are for a single cluster: otherwise all clusters would get its
            # credentials.
            have = "an unnamed cluster" if not self.named else ", ".join(sorted(self.clusters))
            raise UsageError(
                f"{OPTION} are for {have}, but --target-hosts for {', '.join(sorted(clusters))}",
                hint='name the same clusters in both: {"default": {"timeout": 60}, "other": {…}}',
            )
        return dict(self.clusters)


def client_options(text: str) -> ClientOptionsByCluster:
    """Returns the options of the command line and of the environment.

    Raises UsageError that names the source.
    """
    flag, flag_named = _by_cluster(text, OPTION)
    variable, variable_named = _by_cluster(os.environ.get(VARIABLE, ""), VARIABLE)
    return ClientOptionsByCluster(
        {
            cluster: _read(_merged(variable.get(cluster, {}), flag.get(cluster, {})), flag.get(cluster, {}))
            for cluster in dict.fromkeys((*flag, *variable))
        },
        flag_named or variable_named,
    )


def as_given(text: str) -> dict[str, Any]:
    """Returns the options of the command line alone, under their main names and with absolute paths, with
    those of each cluster if clusters were named; they may be secret.
    """
    clusters, named = _by_cluster(text, OPTION)
    clusters = {
        cluster: {
            name: _absolute(value) if name in _FILES and isinstance(value, str) else value
            for name, value in options.items()
        }
        for cluster, options in clusters.items()
    }
    return clusters if named else clusters.get(DEFAULT_CLUSTER, {})


def _absolute(path: str) -> str:
    # Path.expanduser raises for unknown users.
    return str(Path(os.path.expanduser(path)).absolute())  # noqa: PTH111


def without_credentials(text: str, origin: str) -> tuple[dict[str, Any], bool]:
    """Returns options without credentials, client certificates and headers, and whether there were any.

    Raises UsageError that names the origin.
    """
    clusters, named = _by_cluster(text, origin)
    kept = {
        cluster: {name: value for name, value in options.items() if name not in _FOR_ONE_HOST}
        for cluster, options in clusters.items()
    }
    return kept if named else kept.get(DEFAULT_CLUSTER, {}), kept != clusters


def _by_cluster(text: str, origin: str) -> tuple[dict[str, dict[str, Any]], bool]:
    """Returns the options by cluster under their main names, and whether the user has named the clusters."""
    given = parse_dict(text, origin, texts=_TEXTS)
    named = isinstance(given.get(DEFAULT_CLUSTER), Mapping)
    if not given:
        return {}, False
    clusters = given if named else {DEFAULT_CLUSTER: given}
    for options in clusters.values():
        if not isinstance(options, Mapping):
            raise UsageError(f"{origin}: the options of a cluster must be an object")
    return {cluster: _known(options, origin) for cluster, options in clusters.items()}, named


def _known(options: Mapping[str, Any], origin: str) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for given, value in options.items():
        name = _ALIASES.get(given, given)
        if name not in _KNOWN:
            # Text that is not a name may be the second half of a password that contains a comma.
            shown = (
                f"unknown client option '{given}'"
                if _NAME.fullmatch(given)
                else "an item is not a client option"
            )
            known_ones = f"options: {', '.join(_KNOWN)}"
            hint = f"{similar(given, _KNOWN)} {known_ones}".lstrip()
            raise UsageError(f"{origin}: {shown}", hint=hint)
        if name in known and known[name] != value:
            raise UsageError(f"{origin}: {given} and {name} are the same option, with two values")
        known[name] = value
    return known


def _merged(environment: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Merges options key by key, but credentials as a whole, so that two kinds are not mixed."""
    if any(name in flags for name in _CREDENTIALS):
        environment = {name: value for name, value in environment.items() if name not in _CREDENTIALS}
    return {**environment, **flags}


def _read(given: Mapping[str, Any], flags: Collection[str]) -> ClientOptions:
    options = _OptionReader(given, flags)
    options.refuse()
    headers = dict(options.headers())
    if opaque := options.text("opaque_id"):
        headers["x-opaque-id"] = opaque
    header = headers.pop("authorization", None)
    authorization = options.authorization()
    if header and authorization:
        origin = options.origin("headers", *_CREDENTIALS)
        raise UsageError(f"{origin}: give credentials or an authorization header, not both")
    return ClientOptions(
        timeout_s=options.timeout(),
        use_ssl=options.flag("use_ssl"),
        tls=options.tls(),
        authorization=authorization or header,
        headers=tuple(headers.items()),
        compress=options.flag("http_compress") or False,
        api_key_per_client=options.flag("create_api_key_per_client") or False,
        remarks=options.remarks(),
    )


class _OptionReader(Struct, frozen=True):
    """Reads the options of one cluster; every method raises UsageError."""

    given: Mapping[str, Any]
    """Options by name."""

    flags: Collection[str]
    """Names of the options that the command line gives; the others are from the environment."""

    def origin(self, *names: str) -> str:
        """Returns the source of these options: the command line, the environment, or both."""
        origins = (OPTION if name in self.flags else VARIABLE for name in names if name in self.given)
        return " and ".join(sorted(set(origins)))

    def wrong(self, name: str, what: str, hint: str = "") -> UsageError:
        """Returns the error for an option, or for a part of it."""
        return UsageError(f"{self.origin(name.partition('.')[0])}: {name} {what}", hint=hint)

    def flag(self, name: str) -> bool | None:
        """Returns a boolean, or None if it is not given."""
        value = self.given.get(name)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if value is not None and not isinstance(value, bool):
            raise self.wrong(name, "must be true or false")
        return value

    def text(self, name: str) -> str | None:
        """Returns a string that is valid in a header, read from a file for `@FILE`, or None if it is not
        given.
        """
        value = self.given.get(name)
        return None if value is None else self.visible(name, value)

    def visible(self, name: str, value: object) -> str:
        """Returns a value as text that is valid in a header."""
        text = self.from_file(name, value)
        if not _VISIBLE.fullmatch(text):
            raise self.wrong(name, "is empty or contains characters that are invalid in a header")
        return text

    def from_file(self, name: str, value: object) -> str:
        """Returns a value as text: the content of a file for `@FILE`, and a string that begins with `@` for
        `@@…`.
        """
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(name, "must be a string")
        text = str(value)
        if not text.startswith("@"):
            return text
        if text.startswith("@@"):
            return text[1:]
        try:
            with Path(os.path.expanduser(text[1:])).open(encoding="utf-8") as file:  # noqa: PTH111
                content = file.read(_MAX_SECRET_CHARS + 1)
        except (OSError, ValueError) as error:
            # The file name may be a password that begins with `@`.
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise self.wrong(
                name,
                f"names a file that cannot be read: {reason}",
                "a value that begins with @ is written @@…",
            ) from None
        if len(content) > _MAX_SECRET_CHARS:
            raise self.wrong(name, f"names a file with more than {_MAX_SECRET_CHARS} characters")
        return content.rstrip("\r\n")

    def timeout(self) -> float:
        """Returns the timeout in seconds."""
        seconds = self.given.get("timeout", 60)
        if seconds is None:
            return NO_TIMEOUT_S
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 1e9:
            raise self.wrong("timeout", "must be a number of seconds above 0, or none")
        return float(seconds)

    def tls(self) -> TlsOptions:
        """Returns the TLS options; the files are read when the cluster is opened."""
        if "client_key" in self.given and "client_cert" not in self.given:
            raise self.wrong("client_key", "needs client_cert")
        verify = self.flag("verify_certs") is not False
        name = self.given.get("ssl_assert_hostname")
        named = isinstance(name, str) and name.lower() not in ("true", "false")
        return TlsOptions(
            ca_file=self.file("ca_certs"),
            client_cert=self.file("client_cert"),
            client_key=self.file("client_key"),
            verify=verify,
            verify_host=verify and (named or self.flag("ssl_assert_hostname") is not False),
            server_name=self.text("ssl_assert_hostname") if named else None,
        )

    def file(self, name: str) -> str | None:
        """Returns the absolute path of a file."""
        value = self.given.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "must be the name of a file")
        return _absolute(value)

    def authorization(self) -> str | None:
        """Returns the value of the Authorization header, or None if there are no credentials."""
        user, password = "basic_auth_user" in self.given, "basic_auth_password" in self.given
        if user != password:
            raise UsageError(
                f"{self.origin(*_CREDENTIALS)}: basic_auth_user and basic_auth_password go together"
            )
        kinds = [name for name in ("basic_auth", "api_key", "bearer_auth") if name in self.given]
        if user + len(kinds) > 1:
            raise UsageError(
                f"{self.origin(*_CREDENTIALS)}: give one of basic_auth_user, {', '.join(_CREDENTIALS[2:])}"
            )
        if user:
            names = _CREDENTIALS[:2]
            return "Basic " + _base64(*(self.from_file(name, self.given[name]) for name in names))
        if kinds == ["basic_auth"]:
            return "Basic " + _base64(*self.pair("basic_auth"))
        if kinds == ["api_key"]:
            return "ApiKey " + self.api_key()
        return f"Bearer {self.text('bearer_auth')}" if kinds else None

    def api_key(self) -> str:
        """Returns an API key as it is sent, base64 of id and secret, also if the option is `id:secret`."""
        if isinstance(self.given["api_key"], str) and ":" not in (text := self.text("api_key") or ""):
            return text
        return _base64(*self.pair("api_key"))

    def pair(self, name: str) -> tuple[str, str]:
        """Returns two strings, given as `a:b` or as a list."""
        value = self.given[name]
        if isinstance(value, list):
            parts = [self.from_file(name, part) for part in value]
        else:
            parts = self.from_file(name, value).split(":", 1)
        if len(parts) != 2 or not all(parts):
            raise self.wrong(name, "must be two strings, as 'a:b' or as a list")
        return parts[0], parts[1]

    def headers(self) -> Headers:
        """Returns additional headers."""
        given = self.given.get("headers") or {}
        if not isinstance(given, Mapping):
            raise self.wrong("headers", "must be an object", 'in JSON: {"headers": {"x-team": "a"}}')
        for name in given:
            if not _HEADER_NAME.fullmatch(name):
                raise self.wrong("headers", "contains an invalid header name")
            if name.lower() in _RESERVED_HEADERS:
                raise self.wrong("headers", f"cannot set {name.lower()}, which the driver sets")
            if name.lower() == ACCEPT_ENCODING and given[name] not in _ACCEPTED_ENCODINGS:
                raise self.wrong("headers", f"contains {name}, which must be gzip or identity")
        return tuple((name.lower(), self.visible(f"headers.{name}", value)) for name, value in given.items())

    def refuse(self) -> None:
        """Refuses options that only Rally supports, unless they are switched off."""
        for name, (why, instead) in _REFUSED.items():
            if self.given.get(name) not in (None, False, "false"):
                raise self.wrong(name, f"is not available: {why}", instead)

    def remarks(self) -> tuple[str, ...]:
        """Returns warnings about options that have no effect, unless they are switched off."""
        remarks = []
        for names, why in _IGNORED.items():
            given = [name for name in names if self.given.get(name) not in _SWITCHED_OFF]
            have = "have" if len(given) > 1 else "has"
            remarks += [f"{self.origin(*given)}: {', '.join(given)} {have} no effect: {why}"] if given else []
        return tuple(remarks)


def _base64(first: str, second: str) -> str:
    return base64.b64encode(f"{first}:{second}".encode()).decode("ascii")
