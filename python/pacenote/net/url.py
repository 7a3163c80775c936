"""Parses URLs that users specify, and separates their credentials so that the rest can be shown."""

from __future__ import annotations

import base64
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from pacenote.errors import UsageError

_NOT_IN_HOSTS = re.compile(r'[\s"<>\\^`{|}]')
"""Characters that no host name contains."""


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """An http or https URL without its credentials."""

    parts: SplitResult
    """The URL without credentials, query and fragment."""
    authorization: str | None = field(default=None, repr=False)
    """The value of the Authorization header for credentials in the URL; secret. None if there are no
    credentials.
    """

    @property
    def host(self) -> str:
        """The host name or address, in lower case and without the brackets of IPv6."""
        return self.parts.hostname or ""

    @property
    def port(self) -> int:
        """The port of the URL, or the default port of its scheme."""
        return self.parts.port or (443 if self.parts.scheme == "https" else 80)


def parse_url(url: str, setting: str) -> ParsedUrl:
    """Parses an http(s) URL.

    `setting` is the source of the URL in messages. Raises UsageError if the text is not an http or https URL.
    The message does not repeat it, because it may contain a secret.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(f"{setting} is not a URL with a valid host and port") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or _NOT_IN_HOSTS.search(parts.hostname):
        raise UsageError(
            f"{setting} is not an http or https URL", hint="write it as https://host[:port]/path"
        )
    authorization = None
    if parts.username is not None:
        authorization = basic_auth_header(unquote(parts.username), unquote(parts.password or ""))
    netloc = host_and_port(parts.hostname, port)
    return ParsedUrl(parts._replace(netloc=netloc, query="", fragment=""), authorization)


def basic_auth_header(user: str, password: str) -> str:
    """Returns the value of the Authorization header for HTTP basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def host_and_port(host: str, port: int | None) -> str:
    """Returns `host:port` as in a URL, with brackets around an IPv6 address, or only the host if there is no
    port.
    """
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def is_loopback(host: str) -> bool:
    """Returns whether a host name or address refers to this machine."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
