"""Messages from outside, such as the reason in an error of a server, as one line without secrets.

A search for secrets visits each character several times; a reply may have 64 MiB.
"""

from __future__ import annotations

from collections.abc import Collection

from pacenote.model.codec import as_text
from pacenote.model.printable import single_line
from pacenote.model.secrets import redact, redact_urls

_MAX_SEARCHED = 16 << 10
"""Characters of a message that are searched for secrets: many more than are shown."""


def reason_text(*values: object) -> str:
    """Returns the first of these values of an error in a reply that is a text or a number and not empty, or
    `no reason given`. Lists and objects are left out: their text may be much longer than the reply.
    """
    given = (as_text(value) for value in values if value and isinstance(value, str | int | float))
    return next(given, "no reason given")


def shown_value(value: object) -> str:
    """Returns a value of a reply for a message, in one line of at most 300 characters."""
    return single_line(as_text(value)) if isinstance(value, str | int | float) else "an unexpected form"


def message_line(text: str, secrets: Collection[str]) -> str:
    """Returns a message as one line of at most 300 characters, without secrets and control characters."""
    return single_line(redact_beginning(text, secrets, _MAX_SEARCHED))


def redact_beginning(text: str, secrets: Collection[str], length: int) -> str:
    """Returns at most this many characters of a text, without secrets; one that is cut off ends in `…`."""
    # The ellipsis also makes the beginning of a secret be found that is cut off.
    beginning = text if len(text) <= length else f"{text[: length - 1]}…"
    return redact_urls(redact(beginning, secrets))
