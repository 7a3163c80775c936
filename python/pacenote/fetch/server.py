"""Asking a server for a piece of a file, and understanding what it says about the whole."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pacenote.cluster.wire import Access, open_pool, plain_reason
from pacenote.fetch.address import Address

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

CONNECT_S, READ_S = 20.0, 60.0

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_AGAIN = (408, 425, 429)

# Strongest first; what else a server may declare is no proof of the bytes.
_DIGESTS = {"sha-512": "sha512", "sha-256": "sha256", "md5": "md5", "crc32c": "crc32c"}


class Again(Exception):
    """A failure that may pass: reset, time-out, 429, 5xx, a reply that ended early."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Refused(Exception):
    """The server said no, and will say it again."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status


class Changed(Exception):
    """The server has another version of the file than the one that was begun."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a server says of a file: its bytes (None: not said), and what tells this version from others.

    `validator` is empty when the server says nothing reliable. `ranges` is whether pieces can be had.
    `digest` is the name of a hash function with the hash of the whole file, both empty when not declared.
    """

    total: int | None
    validator: str
    ranges: bool
    digest: tuple[str, bytes] = ("", b"")


class Server:
    """The server of one file. Safe to use from several threads."""

    def __init__(self, address: Address, connections: int) -> None:
        from urllib3.util import parse_url

        self._address = address
        url = parse_url(address.url)
        self._pool = open_pool(url.scheme or "https", url.host or "", Access(), connections)

    def get(self, first: int, last: int | None, validator: str) -> tuple[BaseHTTPResponse, Version]:
        """The bytes from `first` to `last` (None: the end) of the version that `validator` names.

        A server that knows no pieces, or has another version, sends the whole file; the version says so.
        Raises Again, Refused, or Changed when the file is shorter than that.
        """
        import urllib3

        headers = {
            "accept-encoding": "identity",
            "range": f"bytes={first}-{'' if last is None else last}",
            **dict(self._address.headers),
            **({"if-range": validator} if validator else {}),
        }
        try:
            reply = self._pool.request(
                "GET",
                self._address.url,
                headers=headers,
                timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
                preload_content=False,
                redirect=True,
                retries=urllib3.Retry(total=False, redirect=5),
            )
        except urllib3.exceptions.HTTPError as failure:
            raise Again(plain_reason(failure)) from None
        try:
            # A header may come several times; by name, all its values come together.
            headers = {name.lower(): reply.headers[name] for name in reply.headers}
            return reply, _understood(reply.status, headers, first)
        except BaseException:
            reply.close()
            raise

    def close(self) -> None:
        """Closes all connections."""
        self._pool.clear()


def _understood(status: int, headers: Mapping[str, str], first: int) -> Version:
    if status == 206:
        found = _RANGE.fullmatch(headers.get("content-range", "").strip())
        if found is None or int(found[1]) != first:
            raise Again("another piece came than the one asked for")
        total = None if found[3] == "*" else int(found[3])
        return Version(total, _validator(headers), ranges=True, digest=_digest(headers))
    if status == 200:
        length = headers.get("content-length", "")
        total = int(length) if length.isdigit() else None
        digest = _digest(headers) if _digest(headers)[0] else _decoded("md5", headers.get("content-md5", ""))
        return Version(total, _validator(headers), ranges=False, digest=digest)
    if status == 416 and first:
        raise Changed
    if status in _AGAIN or status >= 500:
        after = headers.get("retry-after", "")
        raise Again(f"HTTP status {status}", float(after) if after.isdigit() else 0.0)
    raise Refused(status)


def _validator(headers: Mapping[str, str]) -> str:
    """What `If-Range` takes: an entity tag that is no weak one, else the time of the last change."""
    tag = headers.get("etag", "").strip()
    return tag if tag.startswith('"') else headers.get("last-modified", "").strip()


def _digest(headers: Mapping[str, str]) -> tuple[str, bytes]:
    """The hash of the whole file, whichever piece of it came."""
    # The one is in colons, the other is not; the third is Google's.
    said = ",".join(headers.get(name, "") for name in ("repr-digest", "digest", "x-goog-hash"))
    values = dict(entry.strip().partition("=")[::2] for entry in said.split(","))
    hashes = {name.lower(): value.strip(":") for name, value in values.items()}
    for name, function in _DIGESTS.items():
        if name in hashes:
            return _decoded(function, hashes[name])
    return "", b""


def _decoded(function: str, text: str) -> tuple[str, bytes]:
    try:
        return (function, base64.b64decode(text, validate=True)) if text else ("", b"")
    except binascii.Error:
        return "", b""
