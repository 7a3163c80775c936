"""Replies of limited size and depth, so that no server can exhaust the memory or the stack of Pacenote."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pacenote.errors import EngineError
from pacenote.model.decoding import (
    MAX_DEPTH,
    MAX_REPLY_BYTES,
    TooDeep,
    TooManyValues,
    UnusableNumber,
    parse_json,
)
from pacenote.model.printable import make_encodable

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

MAX_BODY_BYTES = MAX_REPLY_BYTES
"""Maximum size of a body after decompression."""

LARGE_BODY_BYTES = 1 << 20
"""Size of a body from which its thread waits for the others in `one_large_reply_at_a_time`: with its values,
the largest one may take a GiB, and a smaller one sixteen times its size.
"""

LARGE_BODY_WAIT_S = 30.0
"""Seconds for which a thread waits until no other one has a large body."""

FORM_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of code that reads a value of another form than it expects."""

_CHUNK_BYTES = 256 * 1024

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
"""A JSON escape of a surrogate, which may lack its pair."""


_large_bodies = threading.Lock()
_thread = threading.local()


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
        if len(body) > LARGE_BODY_BYTES and not _may_be_large():
            response.close()
            raise UnusableReply(
                f"is larger than {LARGE_BODY_BYTES >> 20} MiB, and others were being read for "
                f"{LARGE_BODY_WAIT_S:g} s"
            )
    response.release_conn()
    return bytes(body)


@contextmanager
def one_large_reply_at_a_time() -> Generator[None, None, None]:
    """Limits the memory of replies that several threads read at the same time: in it, a thread that reads a
    large one waits until no other thread has one. It has to have let go of the reply at the end.
    """
    if hasattr(_thread, "has_large_body"):
        yield
        return
    _thread.has_large_body = False
    try:
        yield
    finally:
        if _thread.has_large_body:
            _large_bodies.release()
        del _thread.has_large_body


def _may_be_large() -> bool:
    """Waits until this thread may have a large body, and returns whether it may."""
    if getattr(_thread, "has_large_body", True):
        return True
    _thread.has_large_body = _large_bodies.acquire(timeout=LARGE_BODY_WAIT_S)
    return bool(_thread.has_large_body)


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
    return make_encodable(document) if _SURROGATE_ESCAPE.search(body) else document


@contextmanager
def expected_form(what: str) -> Generator[None, None, None]:
    """Raises EngineError if the block finds a reply about `what` in a different form than it expects."""
    try:
        yield
    except FORM_ERRORS as error:
        raise EngineError(
            f"the cluster's reply about {what} has an unexpected form",
            hint="check that --target-hosts names the cluster itself, not a different server",
        ) from error
