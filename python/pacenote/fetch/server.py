"""Asking a server for a piece of a file, and understanding what it says about the whole."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pacenote.fetch.address import Address
from pacenote.net.http_pool import Access, open_pool, plain_reason

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

CONNECT_S, READ_S = 20.0, 60.0
_REDIRECTS = 5

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_AGAIN = (408, 425, 429)

_ENDINGS = {"gzip": (".gz", ".tgz"), "bzip2": (".bz2",), "zstd": (".zst",)}

# Strongest first; what else a server may declare is no proof of the bytes.
_DIGESTS = {"sha-512": "sha512", "sha-256": "sha256", "md5": "md5", "crc32c": "crc32c"}


class Again(Exception):
    """A failure that may pass: reset, time-out, 429, 5xx, a reply that ended early."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Refused(Exception):
    """The server said no, and will say it again; or what it sends is of no use."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(reason or f"HTTP status {status}")
        self.status = status


class Changed(Exception):
    """The server has another version of the file than the one that was begun."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a server says of a file: its bytes (None: not said), and what tells this version from others.

    `validator` is empty when the server says nothing reliable. `ranges` is whether pieces can be had, and
    told from those of another version. `digest` is the name of a hash function with the hash of the whole
    file, both empty when not declared.
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
                # Redirects only; to another host they go without credentials.
                retries=urllib3.Retry(total=None, connect=0, read=0, status=0, other=0, redirect=_REDIRECTS),
            )
        except urllib3.exceptions.HTTPError as failure:
            raise Again(plain_reason(failure)) from None
        try:
            # A header may come several times; by name, all its values come together.
            headers = {name.lower(): reply.headers[name] for name in reply.headers}
            if reply.status in (200, 206):
                _check_coding(self._address.shown, headers)
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
        if found[3] == "*":
            # What it sends may end anywhere, and nobody would know.
            raise Refused(status, "the server sends a piece and does not say of how many bytes")
        validator = _validator(headers)
        # Without a validator, pieces of two versions could come together.
        return Version(int(found[3]), validator, ranges=bool(validator), digest=_digest(headers))
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


def _check_coding(shown: str, headers: Mapping[str, str]) -> None:
    """Raises Refused for bytes that were packed on the way: they are not the file.

    Of an archive, many servers say with this header how it is packed itself.
    """
    coding = headers.get("content-encoding", "").strip().lower().removeprefix("x-")
    if coding not in ("", "identity") and not shown.endswith(_ENDINGS.get(coding, ("?",))):
        raise Refused(200, f"the server packs it on the way ({coding}), although asked not to")


def _validator(headers: Mapping[str, str]) -> str:
    """What `If-Range` takes: an entity tag that is no weak one, else the time of the last change."""
    tag = headers.get("etag", "").strip()
    return tag if tag.startswith('"') else headers.get("last-modified", "").strip()


def _digest(headers: Mapping[str, str]) -> tuple[str, bytes]:
    """The hash of the whole file, whichever piece of it came."""
    # The one is in colons, the other is not; the third is Google's.
    names = ["repr-digest", "digest"]
    # Google's is that of the file as it is stored, and it may have unpacked it for us.
    if headers.get("x-goog-stored-content-encoding", "identity") == headers.get(
        "content-encoding", "identity"
    ):
        names.append("x-goog-hash")
    said = ",".join(headers.get(name, "") for name in names)
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
