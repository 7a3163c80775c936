"""What stands for characters that the encoding of a terminal or file does not have."""

from __future__ import annotations

import codecs
import unicodedata

ERRORS = "pacenote-plain"
"""Name of the error handler of encodings that `register` makes known."""

_PLAIN = {
    **dict(zip("▁▂▃▄▅▆▇█░", "_.~oxO%8.", strict=True)),
    **dict.fromkeys("–—\u2011\u2212", "-"),
    **dict.fromkeys("…·", "."),
    "µ": "u",
    "±": "~",
    "×": "x",
    "†": "*",
    "≤": "< ",
    "≥": ">",
    "│": ":",
    "─": "-",
}
"""Characters that Pacenote prints, each with what looks similar. Texts of others may have them, too, and have
been cleaned and quoted before: nothing that stands for them ends a quotation or begins a command of a shell
or, unlike `<` without a space, a tag. Cells of CSV do not begin with those that become a minus sign.
"""


def register() -> None:
    """Makes the error handler known: it replaces what it has no better character for by question marks, one
    for each column.
    """
    codecs.register_error(ERRORS, _replaced)


def plain_text(text: str, encoding: str) -> str:
    """Returns text with only the characters that an encoding has."""
    return text.encode(encoding, ERRORS).decode(encoding)


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
