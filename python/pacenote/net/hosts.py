"""The hosts of a cluster, parsed from `--target-hosts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from msgspec import Struct

from pacenote.errors import UsageError
from pacenote.net.url import host_and_port, parse_url

DEFAULT_PORT = 9200
"""Default port of a host that is not an https URL."""

HTTPS_PORT = 443
"""Default port of an https URL, as in Rally."""


class HttpHost(Struct, frozen=True):
    """A host that accepts HTTP requests: one node of a cluster, or a load balancer in front of it."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Host name or address, without the brackets of IPv6."""
    port: int
    """TCP port."""
    path: str = ""
    """Prefix of every path: empty, or with a leading slash and without a trailing one."""

    @property
    def address(self) -> str:
        """`host:port`, for messages."""
        return host_and_port(self.host, self.port)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.address}{self.path}"


@dataclass(frozen=True, slots=True)
class ParsedHosts:
    """The value of `--target-hosts`."""

    hosts: tuple[HttpHost, ...]
    """The hosts in the given order, each once; at least one."""
    authorization: str | None = field(default=None, repr=False)
    """The value of the Authorization header for credentials in the URLs; secret. None if there are no
    credentials.
    """


def parse_hosts(target_hosts: str | Sequence[str], *, tls: bool | None = None) -> ParsedHosts:
    """Parses `--target-hosts` (`host:port,host2:port/path`, URLs, `[::1]:9200`).

    The default scheme is http, or https if `tls` is true; a scheme that contradicts `tls` is an error. The
    default port is 9200, and 443 for an https URL. Raises UsageError with the invalid entry.
    """
    text = target_hosts.split(",") if isinstance(target_hosts, str) else list(target_hosts)
    entries = [entry.strip() for entry in text if entry.strip()]
    if not entries:
        raise UsageError("--target-hosts names no host", hint="for example --target-hosts=127.0.0.1:9200")
    if any("@" in entry for entry in entries) and (odd := next(filter(_is_part_of_password, entries), "")):
        raise UsageError(
            f"entry {entries.index(odd) + 1} of --target-hosts is not a host",
            hint="write a comma, a slash or an @ in a password as %2C, %2F or %40",
        )
    parsed = [_parse(entry, "https" if tls else "http") for entry in entries]
    for host in (parsed_host.hosts[0] for parsed_host in parsed):
        if tls is not None and (host.scheme == "https") != tls:
            raise UsageError(
                f"'{host}' in --target-hosts contradicts use_ssl:{str(tls).lower()} in --client-options",
                hint="remove one of them",
            )
    credentials = {parsed_host.authorization for parsed_host in parsed if parsed_host.authorization}
    if len(credentials) > 1:
        raise UsageError(
            "--target-hosts contains different credentials", hint="use the same credentials for all its hosts"
        )
    if credentials and not all(parsed_host.authorization for parsed_host in parsed):
        # They are sent to all hosts, and must not be sent to one for which they were not given.
        raise UsageError(
            "--target-hosts contains credentials for only some of its hosts",
            hint="write them for each host, or give them in --client-options; a comma in a password is %2C",
        )
    hosts = tuple(dict.fromkeys(parsed_host.hosts[0] for parsed_host in parsed))
    return ParsedHosts(hosts, next(iter(credentials), None))


def _is_part_of_password(entry: str) -> bool:
    """Returns whether an entry without an @ has no valid port: it may be the part of a password before a
    comma.
    """
    if "@" in entry:
        return False
    try:
        return (
            urlsplit(entry if "://" in entry else f"//{entry}").port is None
            and ":" in entry.rpartition("]")[2].rpartition("://")[2]
        )
    except ValueError:
        return True


def _parse(entry: str, scheme: str) -> ParsedHosts:
    shown = entry.rpartition("@")[2]
    if (cut := shown.replace("#", "?").partition("?"))[1]:
        # The query may contain a secret.
        raise UsageError(
            f"'{cut[0]}' in --target-hosts has a query string or a fragment, which would be in no request",
            hint="remove it; headers can be given in --client-options",
        )
    url = entry if "://" in entry else f"{scheme}://{entry}"
    try:
        if urlsplit(url).netloc.rpartition("@")[2].endswith(":"):
            raise UsageError("no port after the colon")
        parsed = parse_url(url, f"'{shown}' in --target-hosts")
    except (UsageError, ValueError):
        raise UsageError(
            f"'{shown}' in --target-hosts is not a host",
            hint="write it as host:port, host:port/path, [IPv6]:port or an http(s) URL",
        ) from None
    parts = parsed.parts
    default = HTTPS_PORT if "://" in entry and parts.scheme == "https" else DEFAULT_PORT
    port = parts.port if parts.port is not None else default
    return ParsedHosts(
        (HttpHost(parts.scheme, parsed.host, port, parts.path.rstrip("/")),), parsed.authorization
    )
