"""Addresses of a cluster's nodes, as `--target-hosts` names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pacenote.errors import UsageError
from pacenote.net.http_pool import Access, split_url

DEFAULT_PORT = 9200

HTTPS_PORT = 443
"""What a URL with https means, also to Rally."""


@dataclass(frozen=True, slots=True)
class Host:
    """Where one node answers. `path` is empty or starts with a slash; `host` has no brackets for IPv6."""

    scheme: str
    host: str
    port: int
    path: str = ""

    @property
    def address(self) -> str:
        """`host:port`, for messages."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.address}{self.path}"


def parse_hosts(
    target_hosts: str | Sequence[str], *, tls: bool | None = None
) -> tuple[tuple[Host, ...], Access]:
    """The hosts of `--target-hosts` (`host:port,host2:port/path`, URLs, `[::1]:9200`), and credentials found
    in URLs.

    Without a scheme it is http, or https when `tls` is set; a scheme that `tls` contradicts is an error. The
    port is 9200 unless given, or that of a URL with https: 443. Raises UsageError naming the entry that is
    wrong.
    """
    text = target_hosts.split(",") if isinstance(target_hosts, str) else list(target_hosts)
    entries = [entry.strip() for entry in text if entry.strip()]
    if not entries:
        raise UsageError("--target-hosts names no host", hint="for example --target-hosts=127.0.0.1:9200")
    parsed = [_parse(entry, "https" if tls else "http") for entry in entries]
    for host, _ in parsed:
        if tls is not None and (host.scheme == "https") != tls:
            raise UsageError(
                f"'{host}' in --target-hosts contradicts use_ssl:{str(tls).lower()} in --client-options",
                hint="leave one of them out",
            )
    found = {access for _, access in parsed if access.headers}
    if len(found) > 1:
        raise UsageError(
            "--target-hosts holds several credentials", hint="a cluster is talked to with the same everywhere"
        )
    return tuple(dict.fromkeys(host for host, _ in parsed)), next(iter(found), Access())


def _parse(entry: str, scheme: str) -> tuple[Host, Access]:
    shown = entry.rpartition("@")[2]
    url = entry if "://" in entry else f"{scheme}://{entry}"
    try:
        if urlsplit(url).netloc.rpartition("@")[2].endswith(":"):
            raise UsageError("no port after the colon")
        parts, access = split_url(url, f"'{shown}' in --target-hosts")
    except (UsageError, ValueError):
        raise UsageError(
            f"'{shown}' in --target-hosts is not a host",
            hint="write it as host:port, host:port/path, [IPv6]:port or an http(s) URL",
        ) from None
    usual = HTTPS_PORT if "://" in entry and parts.scheme == "https" else DEFAULT_PORT
    port = parts.port if parts.port is not None else usual
    return Host(parts.scheme, parts.hostname or "", port, parts.path.rstrip("/")), access
