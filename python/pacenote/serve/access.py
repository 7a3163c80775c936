"""Access to the server: only with its address that has the token.

Other users of this machine reach the server too, and so do pages of other sites in the user's browser. The
address that `pacenote serve` prints has a token, for which the browser gets a cookie. A cookie for a host is
sent to all ports of it, so that servers of others could receive it: it is therefore limited to a path that
differs at each start.

A browser also keeps what belongs to a host and a port: a page that another user had there once may have
left a worker, which sees all later requests to them, with the token. So each start has an address of its
own, where the system lets it, and what the server sends to an open page is only obeyed with a key of that
page.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from pacenote.errors import PacenoteError

TOKEN = "token"  # noqa: S105  # its name
"""Name of the token in the address, and of the proof in forms."""

COOKIE = "pacenote"
"""Name of the cookie."""

FIXED = "127.0.0.1"
"""The address of this machine that is the same at each start, and to which forwarded ports lead."""

_HOST = re.compile(r"(?P<name>[0-9.]{1,15}|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE | re.ASCII)
"""A `Host` header that may name this machine."""

_NAMES = (FIXED, "localhost", "[::1]")
"""The names that are allowed beside the address: those of a forwarded port. Any other one belongs to a page
that resolves it to this machine.
"""

_OWN_PAGES = ("same-origin", "none")
"""Values of `Sec-Fetch-Site` for requests that pages of this server make, or the user."""


class AccessDenied(PacenoteError):
    """A request that is not answered, with the reason."""


def _secret() -> str:
    return secrets.token_urlsafe(32)


def new_address() -> str:
    """Returns an address of this machine that no other start has, and that others cannot guess: of the
    network 127.0.0.0/8 (RFC 1122, section 3.2.1.3), which Linux has as a whole.
    """
    return ".".join(("127", *(str(1 + secrets.randbelow(254)) for _ in range(3))))


@dataclass(frozen=True, slots=True)
class Access:
    """The secrets of one start of the server."""

    address: str = FIXED
    """The address of this machine that the server listens on."""

    token: str = field(default_factory=_secret, repr=False)
    """In the address that is printed."""

    session: str = field(default_factory=_secret, repr=False)
    """In the cookie."""

    proof: str = field(default_factory=_secret, repr=False)
    """In forms that change something."""

    updates: str = field(default_factory=_secret, repr=False)
    """From it, the keys of pages that show running races are computed."""

    root: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(6)}/")
    """Path of all pages, which begins and ends with a slash. It is only shown to requests with the cookie: a
    server on another port of this host would get the cookie at the same path.
    """

    def has_token(self, given: str) -> bool:
        """Returns whether a text is the token of the address."""
        return _equal(given, self.token)

    def update_key(self, race: str) -> str:
        """Returns the key of what is sent to pages that show a race. Only the pages have it: browsers do
        not send it, so that a server which others start at this address later does not get it.
        """
        return hmac.new(self.updates.encode(), race.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def cookie(self) -> str:
        """Returns the value of the header `Set-Cookie`."""
        return f"{COOKIE}={self.session}; Path={self.root}; HttpOnly; SameSite=Strict"

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Raises AccessDenied unless the request names this machine: the name of a page that resolves to it
        (DNS rebinding) is a different one.
        """
        host = _HOST.fullmatch(headers.get("Host", ""))
        if host is None or host["name"].lower() not in (self.address, *_NAMES):
            raise AccessDenied(
                "this server is only reachable at its own address, as 127.0.0.1, localhost or [::1]"
            )

    def check_reading(self, headers: Mapping[str, str]) -> None:
        """Raises AccessDenied unless a page of this server or the user makes the request, with the cookie."""
        if headers.get("Sec-Fetch-Site", "none") not in _OWN_PAGES:
            raise AccessDenied("pages of other sites cannot use this server")
        if not any(_equal(given, self.session) for given in _cookies(headers.get("Cookie", ""))):
            raise AccessDenied(
                "this browser has not opened the address that `pacenote serve` printed",
                hint="open that address; each start of the server has a new one",
            )

    def check_writing(self, headers: Mapping[str, str], given: str) -> None:
        """Raises AccessDenied unless a form of this server makes the request."""
        origin = headers.get("Origin", "")
        if origin != f"http://{headers.get('Host', '')}" or not _equal(given, self.proof):
            raise AccessDenied("only forms of this server can change something", hint="reload the page")


def _equal(given: str, expected: str) -> bool:
    """Compares in a time that does not depend on the number of characters that agree."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _cookies(header: str) -> list[str]:
    """Returns the values of all cookies with this name: an earlier start may have left one for this path."""
    cookies = []
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            cookies.append(value)
    return cookies
