"""Redirects that a client of urllib3 may follow. Imported when it sends its first request: urllib3 is slow to
import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin, urlsplit

from urllib3 import Retry

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


class InsecureRedirect(Exception):
    """A server redirects from https to http, where others can read and change what is sent."""


class SecureRedirects(Retry):
    """Follows redirects, but none from https to http, and repeats no request that fails."""

    @classmethod
    def up_to(cls, redirects: int) -> Self:
        """Returns the policy with this number of redirects in a row."""
        return cls(total=None, connect=0, read=0, status=0, other=0, redirect=redirects)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        *others: Any,
        **named: Any,
    ) -> Self:
        """Returns what is left after a redirect or a failure; called by urllib3. Raises InsecureRedirect."""
        if response is not None:
            # Otherwise, urllib3 reads its body to the end, and the server may send one that does not end.
            response.close()
            if _is_insecure(url or "", response.get_redirect_location()):
                raise InsecureRedirect
        return super().increment(method, url, response, *others, **named)


def _is_insecure(url: str, location: object) -> bool:
    """Returns whether a redirect leads from an https URL to another scheme. Only a text is a redirect."""
    is_https = isinstance(location, str) and urlsplit(url).scheme == "https"
    return is_https and urlsplit(urljoin(url, str(location))).scheme != "https"
