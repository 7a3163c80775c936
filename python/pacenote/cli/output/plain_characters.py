"""What stands for characters that the encoding of a terminal or file does not have."""

from __future__ import annotations

import codecs
import unicodedata

ERRORS = "pacenote-plain"
"""Name of the error handler of encodings that `register` makes known."""

_PLAIN = {
    **dict(zip("▁▂▃▄▅▆▇█░", "_.-=+*%#.", strict=True)),
    **dict.fromkeys("–—\u2011\u2212", "-"),
    **dict.fromkeys("…·", "."),
    "µ": "u",
    "±": "~",
    "×": "x",
    "†": "+",
    "≤": "<",
    "≥": ">",
    "\u2019": "'",
    "│": "|",
    "─": "-",
}
"""Characters that Pacenote prints, each with one that takes as many columns."""


def register() -> None:
    """Makes the error handler known: it replaces what it has no better character for by question marks, one
    for each column.
    """
    codecs.register_error(ERRORS, _replaced)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(char: str) -> str:
    if char in _PLAIN:
        return _PLAIN[char]
    if unicodedata.combining(char):
        return ""
    return "??" if unicodedata.east_asian_width(char) in "WF" else "?"
