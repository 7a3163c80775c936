"""Range requests for a remote file, and the properties of the whole file from the response headers."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from pacenote.fetch.remote_file import RemoteFile
from pacenote.net.failures import describe_failure
from pacenote.net.http_pool import ConnectionPools
from pacenote.net.reply_limits import ReplyLimits
from pacenote.units import whole_number

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

CONNECT_TIMEOUT_S = 20.0
"""Seconds within which a connection must be established."""

READ_TIMEOUT_S = 60.0
"""Seconds within which the next bytes of a response must arrive."""

DOWNLOAD_LIMITS = ReplyLimits(stalled_s=READ_TIMEOUT_S)
"""Limits of the responses of file servers: a large file may take any time, but must make progress."""

_MAX_REDIRECTS = 5

_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")
_TRANSIENT_STATUS = (408, 425, 429)

_ARCHIVE_SUFFIXES = {"gzip": (".gz", ".tgz"), "bzip2": (".bz2",), "zstd": (".zst",)}

# Header name to hashlib name, strongest first; other algorithms are ignored.
_DIGEST_ALGORITHMS = {"sha-512": "sha512", "sha-256": "sha256", "md5": "md5", "crc32c": "crc32c"}


class TransientError(Exception):
    """A temporary failure: connection reset, timeout, status 429 or 5xx, a response that ended early."""

    def __init__(self, reason: str, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class RequestRejected(Exception):
    """The server rejects the request, or its response cannot be used; a retry would not help."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(reason or f"HTTP status {status}")
        self.status = status


class FileChanged(Exception):
    """The file on the server is no longer the version that the download began with."""


class Digest(Struct, frozen=True):
    """A checksum of a whole file."""

    algorithm: str
    """The name for `hashlib.new`, or `crc32c`."""
    value: bytes
    """The checksum."""


class FileVersion(Struct, frozen=True):
    """The properties of a file from the headers of a response."""

    size: int | None
    """Size of the whole file in bytes, or None if the server does not report it."""
    validator: str
    """Value for `If-Range`: a strong entity tag or a modification time, or empty if there is neither."""
    ranges: bool
    """Whether the server supports ranges of the file and distinguishes its versions."""
    digest: Digest | None = None
    """The checksum that the server declares, if any."""

    def is_same(self, other: FileVersion) -> bool:
        """Returns whether the headers of two responses describe the same version of the file."""
        mine = self.size, self.validator, self.ranges
        return mine == (other.size, other.validator, other.ranges)


class RangeResponse(Struct, frozen=True):
    """A response whose body is a range of a file, or the whole file."""

    body: BaseHTTPResponse
    """The open response; the caller reads and closes it."""
    version: FileVersion
    """The file that the body belongs to."""


class HttpFile:
    """A remote file over HTTP. Safe to use from several threads."""

    def __init__(self, file: RemoteFile, pools: ConnectionPools) -> None:
        from urllib3.util import parse_url

        self.file = file
        url = parse_url(file.url)
        self._pool = pools.get(url.scheme or "https", url.host or "")

    def get(self, first: int = 0, last: int | None = None, validator: str = "") -> RangeResponse:
        """Requests the bytes from `first` to `last` (None: the end) of the version that `validator`
        identifies.

        A server without ranges, or with another version, sends the whole file, as `version` shows. Raises
        TransientError, RequestRejected, or FileChanged if the file is shorter than `first`.
        """
        import urllib3

        from pacenote.net.redirects import UnusableRedirect, get_following_redirects

        headers = {
            "accept-encoding": "identity",
            "range": f"bytes={first}-{'' if last is None else last}",
            **dict(self.file.headers),
            **({"if-range": validator} if validator else {}),
        }
        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S)
        try:
            response = get_following_redirects(self._pool, self.file.url, headers, timeout, _MAX_REDIRECTS)
        except UnusableRedirect as failure:
            raise RequestRejected(302, str(failure)) from None
        except urllib3.exceptions.HTTPError as failure:
            raise TransientError(describe_failure(failure).reason) from None
        try:
            # A header may occur several times; a lookup by name joins its values.
            received = {name.lower(): response.headers[name] for name in response.headers}
            if response.status in (200, 206):
                _check_content_encoding(self.file.display_url, received)
            return RangeResponse(response, _read_version(response.status, received, first))
        except BaseException:
            response.close()
            raise


def _read_version(status: int, headers: Mapping[str, str], first: int) -> FileVersion:
    if status == 206:
        match = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
        if match is None or int(match[1]) != first:
            raise TransientError("the server sent a range other than the requested one")
        if match[3] == "*":
            # Without the size of the file, a truncated response looks like a complete one.
            raise RequestRejected(status, "the server sends a range without the size of the file")
        validator = _validator(headers)
        # Without a validator, ranges of two versions could be combined.
        return FileVersion(int(match[3]), validator, ranges=bool(validator), digest=_declared_digest(headers))
    if status == 200:
        size = whole_number(headers.get("content-length", ""))
        digest = _declared_digest(headers) or _decode_digest("md5", headers.get("content-md5", ""))
        return FileVersion(size, _validator(headers), ranges=False, digest=digest)
    if status == 416 and first:
        raise FileChanged
    if status in _TRANSIENT_STATUS or status >= 500:
        retry_after = whole_number(headers.get("retry-after", ""))
        raise TransientError(f"HTTP status {status}", float(retry_after or 0))
    raise RequestRejected(status)


def _check_content_encoding(url: str, headers: Mapping[str, str]) -> None:
    """Raises RequestRejected for a body that the server compressed: it is not the file.

    Many servers declare the archive's own compression in this header; such a body is the file.
    """
    encoding = headers.get("content-encoding", "").strip().lower().removeprefix("x-")
    if encoding not in ("", "identity") and not url.endswith(_ARCHIVE_SUFFIXES.get(encoding, ("?",))):
        raise RequestRejected(
            200, f"the server compresses the file ({encoding}) although it was asked not to"
        )


def _validator(headers: Mapping[str, str]) -> str:
    """Returns the value for `If-Range`: a strong entity tag, otherwise the time of the last modification."""
    tag = headers.get("etag", "").strip()
    return tag if tag.startswith('"') else headers.get("last-modified", "").strip()


def _declared_digest(headers: Mapping[str, str]) -> Digest | None:
    """Returns the checksum of the whole file, even if the body is only a range of it.

    From `Repr-Digest` (RFC 9530), its predecessor `Digest` (RFC 3230), and `X-Goog-Hash`.
    """
    names = ["repr-digest", "digest"]
    # Google's checksum is that of the stored file, which the service may have decompressed for the response.
    stored = headers.get("x-goog-stored-content-encoding", "identity")
    if stored == headers.get("content-encoding", "identity"):
        names.append("x-goog-hash")
    joined = ",".join(headers.get(name, "") for name in names)
    values = dict(entry.strip().partition("=")[::2] for entry in joined.split(","))
    # `Repr-Digest` encloses values in colons, the other headers do not.
    digests = {name.lower(): value.strip(":") for name, value in values.items()}
    for name, algorithm in _DIGEST_ALGORITHMS.items():
        if name in digests:
            return _decode_digest(algorithm, digests[name])
    return None


def _decode_digest(algorithm: str, text: str) -> Digest | None:
    try:
        return Digest(algorithm, base64.b64decode(text, validate=True)) if text else None
    except binascii.Error:
        return None
