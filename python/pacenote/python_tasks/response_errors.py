"""Errors in responses of the engine."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from pacenote.model.decoding import parse_reply
from pacenote.model.foreign_messages import reason_text
from pacenote.model.printable import shortened

_MAX_REASON = 16 << 10
"""Characters of a reason that are kept."""

_MAX_BODY = 200
"""Maximum number of bytes of a body that are shown if it contains no known form of error."""


class ResponseError(Struct, frozen=True):
    """The error in a response."""

    kind: str
    """The engine's error type, such as `index_not_found_exception`; empty if the response names none."""

    reason: str
    """The engine's message in one line, or the beginning of the body."""


def parse_response_error(body: bytes) -> ResponseError:
    """Returns the error in the body of a response. Never raises."""
    try:
        document = parse_reply(body)
        error = document["error"] if "error" in document else _first_failure(document)
        if isinstance(error, str):
            return ResponseError("", _one_line(error))
        return ResponseError(_given(error.get("type")), _one_line(_given(error.get("reason"))))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # The mark shows that a secret at the end may be incomplete.
        cut = "…" if len(body) > _MAX_BODY else ""
        return ResponseError("", _one_line(body[:_MAX_BODY].decode(errors="replace")) + cut)


def _first_failure(document: dict[str, Any]) -> Any:
    """Returns the cause of the first failed document or shard, which operations such as update-by-query list
    without an error of their own.
    """
    failure = document["failures"][0]
    return failure["cause"] if "cause" in failure else failure["reason"]


def _given(value: object) -> str:
    return reason_text(value) if value and isinstance(value, str | int | float) else ""


def _one_line(text: str) -> str:
    return " ".join(shortened(text, _MAX_REASON).split())
