"""`--client-options`: how clusters are talked to, from the command line and from the environment.

What `PACENOTE_CLIENT_OPTIONS` says is taken too, in the same form; the option wins, key by key. Secrets may
stand in files: `basic_auth_password:@/run/secrets/elastic`. No message shows a value: it may be a password.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacenote.cli.parser import similar
from pacenote.cli.values import DEFAULT_CLUSTER
from pacenote.errors import UsageError
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.track.params import parse_dict

if TYPE_CHECKING:
    from pacenote.model.work import Headers

OPTION = "--client-options"

VARIABLE = "PACENOTE_CLIENT_OPTIONS"

HELP = (
    "k:v,k2:v2, JSON or a .json file: timeout in seconds (60), use_ssl, verify_certs, ca_certs, client_cert, "
    "client_key, basic_auth_user, basic_auth_password, api_key, bearer_auth, http_compress, headers …; "
    f"secrets also as @FILE, or all of it in ${VARIABLE}"
)

_ALIASES = {
    "request_timeout": "timeout",
    "compressed": "http_compress",
    "http_auth": "basic_auth",
    "bearer_token": "bearer_auth",
    "connections_per_node": "max_connections",
}
"""Other names, of Rally and of elasticsearch-py, for the same."""

_CREDENTIALS = ("basic_auth_user", "basic_auth_password", "basic_auth", "api_key", "bearer_auth")
_FILES = ("ca_certs", "client_cert", "client_key")
_READ = (
    *("timeout", "use_ssl", "verify_certs", *_FILES, "ssl_assert_hostname"),
    *(*_CREDENTIALS, "headers", "opaque_id", "http_compress"),
)
_WITHOUT_EFFECT = ("max_connections", "enable_cleanup_closed", "ssl_show_warn")
"""A client here has one connection and closes it itself, and what is not verified is always said."""

_RETRIES = ("max_retries", "retry_on_timeout", "retry_on_status")
_REFUSED = {
    "create_api_key_per_client": (
        "all clients send the same credentials",
        "make a key beforehand and give it as api_key",
    ),
    "static_responses": (
        "a race without a network would measure something else",
        "`make bench` measures the driver against a server that does nothing",
    ),
    "ssl_assert_fingerprint": (
        "fingerprints are not compared",
        "give the certificate itself, or that of its authority, as ca_certs",
    ),
}
"""What Rally or elasticsearch-py have and we do not: why, and what to do instead."""

_KNOWN = (*_READ, *_WITHOUT_EFFECT, *_RETRIES, *_REFUSED)
_TEXTS = (*_CREDENTIALS, *_FILES, "opaque_id", "http_auth", "bearer_token")

_NAME = re.compile(r"[a-z][a-z_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VISIBLE = re.compile(r"[\x20-\x7e]+")
_OURS = ("accept-encoding", "connection", "content-length", "host", "te", "transfer-encoding")
"""Headers that say how a message is sent, which the driver decides."""


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """Client options by cluster. `named`: the user told them apart, so every cluster has some."""

    clusters: Mapping[str, ClientOptions]
    named: bool

    def of(self, clusters: Collection[str]) -> dict[str, ClientOptions]:
        """The options of each cluster of `--target-hosts`. Raises UsageError when they are for others."""
        if not self.clusters:
            return dict.fromkeys(clusters, ClientOptions())
        if set(self.clusters) != set(clusters):
            # Options without a name could be sent to all, but then credentials of one would be too.
            have = "no cluster by name" if not self.named else ", ".join(sorted(self.clusters))
            raise UsageError(
                f"{OPTION} are for {have}, --target-hosts for {', '.join(sorted(clusters))}",
                hint='name the same clusters in both: {"default": {"timeout": 60}, "other": {…}}',
            )
        return dict(self.clusters)


def client_options(text: str) -> GivenOptions:
    """What `--client-options` and the environment say. Raises UsageError naming the option, and which of the
    two.
    """
    said = os.environ.get(VARIABLE, "")
    named = [(_by_cluster(text, OPTION), OPTION), (_by_cluster(said, VARIABLE), VARIABLE)]
    (flag, flag_named), (variable, variable_named) = (found for found, _ in named)
    return GivenOptions(
        {
            cluster: _read(_merged(variable.get(cluster, {}), flag.get(cluster, {})), flag.get(cluster, {}))
            for cluster in dict.fromkeys((*flag, *variable))
        },
        flag_named or variable_named,
    )


def _by_cluster(text: str, origin: str) -> tuple[dict[str, dict[str, Any]], bool]:
    """Options by cluster, under the names we read, and whether the user named the clusters."""
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
            # What is no name may be the second half of a password with a comma in it.
            shown = f"no client option '{given}'" if _NAME.fullmatch(given) else "an item that is no option"
            known_ones = f"there are {', '.join(_KNOWN)}"
            hint = f"{similar(given, _KNOWN)} {known_ones}".lstrip()
            raise UsageError(f"{origin}: there is {shown}", hint=hint)
        if name in known and known[name] != value:
            raise UsageError(f"{origin}: {given} and {name} are the same option, with two values")
        known[name] = value
    return known


def _merged(farther: Mapping[str, Any], nearer: Mapping[str, Any]) -> dict[str, Any]:
    """Credentials are one thing: some of the option's do not mix with others of the environment's."""
    if any(name in nearer for name in _CREDENTIALS):
        farther = {name: value for name, value in farther.items() if name not in _CREDENTIALS}
    return {**farther, **nearer}


def _read(given: Mapping[str, Any], nearer: Collection[str]) -> ClientOptions:
    options = _Options(given, nearer)
    options.refuse()
    headers = dict(options.headers())
    if opaque := options.text("opaque_id"):
        headers["x-opaque-id"] = opaque
    found = headers.pop("authorization", None)
    authorization = options.authorization()
    if found and authorization:
        origin = options.origin("headers", *_CREDENTIALS)
        raise UsageError(f"{origin}: give credentials or an authorization header, not both")
    return ClientOptions(
        timeout_s=options.timeout(),
        use_ssl=options.flag("use_ssl"),
        tls=options.tls(),
        authorization=authorization or found,
        headers=tuple(headers.items()),
        compress=options.flag("http_compress") or False,
        remarks=options.remarks(),
    )


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of one cluster, to be read one by one; every method raises UsageError. `nearer` are those
    that the command line gives, the others are the environment's.
    """

    given: Mapping[str, Any]
    nearer: Collection[str]

    def origin(self, *names: str) -> str:
        """Who gives these options, as far as they are given."""
        origins = (OPTION if name in self.nearer else VARIABLE for name in names if name in self.given)
        return " and ".join(sorted(set(origins)))

    def wrong(self, name: str, what: str, hint: str = "") -> UsageError:
        """The error about an option, or a part of it."""
        return UsageError(f"{self.origin(name.partition('.')[0])}: {name} {what}", hint=hint)

    def flag(self, name: str) -> bool | None:
        """A switch; None when it is not given."""
        value = self.given.get(name)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if value is not None and not isinstance(value, bool):
            raise self.wrong(name, "must be true or false")
        return value

    def text(self, name: str) -> str | None:
        """A text that can stand in a header, from a file if it is `@FILE`; None when it is not given."""
        value = self.given.get(name)
        return None if value is None else self.visible(name, value)

    def visible(self, name: str, value: object) -> str:
        """A value as text that can stand in a header."""
        text = self.from_file(name, value)
        if not _VISIBLE.fullmatch(text):
            raise self.wrong(name, "is empty or holds characters that a header cannot")
        return text

    def from_file(self, name: str, value: object) -> str:
        """A value as text; `@FILE` is what the file holds, `@@…` begins with an at sign."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(name, "must be a text")
        text = str(value)
        if not text.startswith("@"):
            return text
        if text.startswith("@@"):
            return text[1:]
        try:
            return Path(os.path.expanduser(text[1:])).read_text("utf-8").rstrip("\r\n")  # noqa: PTH111
        except (OSError, ValueError) as error:
            # The name may be a password that begins with an at sign.
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise self.wrong(
                name, f"is a file that cannot be read: {reason}", "a value that begins with @ is written @@…"
            ) from None

    def timeout(self) -> float:
        """In seconds."""
        seconds = self.given.get("timeout", 60)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 1e9:
            raise self.wrong("timeout", "must be a number of seconds above 0")
        return float(seconds)

    def tls(self) -> TlsOptions:
        """Trust in the hosts. That files can be used is looked at when the cluster is."""
        if "client_key" in self.given and "client_cert" not in self.given:
            raise self.wrong("client_key", "needs client_cert beside it")
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
        """The absolute path of a file."""
        value = self.given.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "must be the name of a file")
        return str(Path(os.path.expanduser(value)).absolute())  # noqa: PTH111

    def authorization(self) -> str | None:
        """The value of the header of that name."""
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
        """An API key as it is sent: base64 of its id and secret, which are also taken as they are."""
        if isinstance(self.given["api_key"], str) and ":" not in (text := self.text("api_key") or ""):
            return text
        return _base64(*self.pair("api_key"))

    def pair(self, name: str) -> tuple[str, str]:
        """Two texts, as `a:b` or as a list."""
        value = self.given[name]
        if isinstance(value, list):
            parts = [self.from_file(name, part) for part in value]
        else:
            parts = self.from_file(name, value).split(":", 1)
        if len(parts) != 2 or not all(parts):
            raise self.wrong(name, "must be two texts, as 'a:b' or as a list")
        return parts[0], parts[1]

    def headers(self) -> Headers:
        """Headers of the user's own."""
        given = self.given.get("headers") or {}
        if not isinstance(given, Mapping):
            raise self.wrong("headers", "must be an object", 'in JSON: {"headers": {"x-team": "a"}}')
        for name in given:
            if not _HEADER_NAME.fullmatch(name):
                raise self.wrong("headers", "has a name that no header can have")
            if name.lower() in _OURS:
                raise self.wrong("headers", f"cannot set {name.lower()}, which the driver does")
        return tuple((name.lower(), self.visible(f"headers.{name}", value)) for name, value in given.items())

    def refuse(self) -> None:
        """Refuses what Rally would do and we do not, unless it is switched off."""
        for name, (why, instead) in _REFUSED.items():
            if self.given.get(name) not in (None, False, "false"):
                raise self.wrong(name, f"is not available: {why}", instead)

    def remarks(self) -> tuple[str, ...]:
        """What is said about options that ask for retries."""
        asked = [
            name for name in _RETRIES if self.given.get(name) not in (None, False, 0, "false", [], (), "")
        ]
        what = f"{self.origin(*asked)}: {', '.join(asked)} has no effect: nothing is retried unseen"
        return (what,) if asked else ()


def _base64(first: str, second: str) -> str:
    return base64.b64encode(f"{first}:{second}".encode()).decode("ascii")
