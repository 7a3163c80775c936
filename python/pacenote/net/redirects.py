"""Redirects that a client of urllib3 follows. Imported when it sends its first request: urllib3 is slow to
import.

They are not left to urllib3: it reads the body of a redirect to its end, which a server need not send, and
leaves the response open if the address cannot be parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from urllib3 import Timeout

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager

_FOR_ONE_HOST = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Names of headers, in lower case, that are not sent to another host, scheme or port."""


class UnusableRedirect(Exception):
    """A server redirects to an address that is not followed; the text is a clause without the address, which
    may contain a secret.
    """


def get_following_redirects(
    pool: PoolManager, url: str, headers: Mapping[str, str], timeout: Timeout, most: int
) -> BaseHTTPResponse:
    """Sends a GET request, and again after at most `most` redirects; returns the response, whose body is not
    read yet. `headers` have names in lower case.

    Raises UnusableRedirect for a redirect from https, where others cannot read or change what is sent, to
    http, for an address that is not a URL, and for too many redirects; and the errors of urllib3.
    """
    for _ in range(most + 1):
        response = pool.request(
            "GET", url, headers=headers, timeout=timeout, preload_content=False, redirect=False, retries=False
        )
        location = response.get_redirect_location()
        if not location:
            return response
        response.close()
        target = _target(url, location)
        if _origin(target) != _origin(url):
            headers = {name: value for name, value in headers.items() if name not in _FOR_ONE_HOST}
        url = target
    raise UnusableRedirect(f"the server redirects more than {most} times")


def _target(url: str, location: str) -> str:
    """Returns the address that a redirect leads to. Raises UnusableRedirect."""
    try:
        target = urljoin(url, location)
        scheme, host, _ = _origin(target)
    except ValueError:
        scheme = host = target = ""
    if scheme not in ("http", "https") or not host:
        raise UnusableRedirect("the server redirects to an address that is not a URL of http or https")
    if scheme == "http" and urlsplit(url).scheme == "https":
        raise UnusableRedirect("the server redirects from https to http")
    return target


def _origin(url: str) -> tuple[str, str, int]:
    """Returns scheme, host and port. Raises ValueError."""
    from urllib3.util import parse_url

    parsed = parse_url(url)
    scheme = parsed.scheme or ""
    return scheme, parsed.host or "", parsed.port or (443 if scheme == "https" else 80)
