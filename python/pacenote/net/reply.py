"""Replies of limited size and depth, so that no server can exhaust the memory or the stack of Pacenote."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pacenote.errors import EngineError
from pacenote.model.decoding import MAX_DEPTH, TooDeep, TooManyValues, UnusableNumber, parse_json
from pacenote.model.printable import encodable_value

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Maximum size of a body after decompression."""

_CHUNK_BYTES = 256 * 1024

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
"""A JSON escape of a surrogate, which may lack its pair."""


class UnusableReply(Exception):
    """A reply exceeds a limit; the text is the predicate of a sentence."""


class ReplyLimitError(EngineError):
    """A reply exceeds a limit. The same request would fail again."""


class FailedStatus(EngineError):
    """A reply has a status other than 2xx."""

    def __init__(self, message: str, status: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status

    @property
    def is_not_found(self) -> bool:
        """Whether what was requested does not exist."""
        return self.status == 404


def read_body(response: BaseHTTPResponse) -> bytes:
    """Reads a body up to the limit, decompressed.

    Raises UnusableReply, after which the connection is closed, and the errors of urllib3.
    """
    body = bytearray()
    while chunk := response.read(_CHUNK_BYTES, decode_content=True):
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            response.close()
            raise UnusableReply(f"is larger than {MAX_BODY_BYTES >> 20} MiB")
    response.release_conn()
    return bytes(body)


def parse_body(body: bytes) -> Any:
    """Returns a body: parsed if it is JSON, otherwise text, or None if it is empty. Raises UnusableReply."""
    if not body:
        return None
    try:
        document = parse_json(body, not_finite="kept")
    except TooDeep:
        raise UnusableReply(f"is nested more than {MAX_DEPTH} levels deep") from None
    except TooManyValues:
        raise UnusableReply("has too many values") from None
    except UnusableNumber as error:
        raise UnusableReply(f"has an unexpected form: {error}") from None
    except ValueError:
        return body.decode("utf-8", "replace")
    return encodable_value(document) if _SURROGATE_ESCAPE.search(body) else document


@contextmanager
def expected_form(what: str) -> Generator[None, None, None]:
    """Raises EngineError if the block finds a reply about `what` in a different form than it expects."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise EngineError(
            f"the cluster's reply about {what} has an unexpected form",
            hint="check that --target-hosts names the cluster itself, not a different server",
        ) from error
