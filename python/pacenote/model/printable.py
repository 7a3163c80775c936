"""Makes text from outside, such as names in a track or responses, safe for terminals and files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

_MAX_LENGTH = 300

_MAX_READ = 16 << 10
"""Characters of a text from outside that are read for a line: a reply may have 64 MiB."""

_PART = 4 << 10
"""Characters that are replaced at a time."""

_BEFORE = 10
"""Number of characters that are shown before the first that differs, if a text is too long."""

INVISIBLE_CHARACTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159"
"""Characters without a shape that Unicode counts among the printable ones: the joiner of graphemes, letters
of Hangul and Khmer, a Braille cell without dots, and the note head that is not shown.
"""

_INVISIBLE_CHARACTER = re.compile(f"[{INVISIBLE_CHARACTERS}]")

_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """Replaces every unprintable character by a space: controls, line breaks, marks of writing direction,
    characters without a shape.
    """
    if _is_printable(text):
        return text
    return _in_parts(text, lambda char: char if _is_printable(char) else " ")


def visible(text: str) -> str:
    """Returns the text with an escape as in JSON, such as `\\u001b`, in place of unprintable characters."""
    if _is_printable(text):
        return text
    return _in_parts(text, lambda char: char if _is_printable(char) else _escape(char))


def _is_printable(text: str) -> bool:
    return text.isprintable() and (text.isascii() or not _INVISIBLE_CHARACTER.search(text))


def _in_parts(text: str, replacement: Callable[[str], str]) -> str:
    """Returns the text with each character replaced: part by part, because a character on its own takes up to
    80 bytes.
    """
    parts = (text[start : start + _PART] for start in range(0, len(text), _PART))
    return "".join("".join(map(replacement, part)) for part in parts)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))


def encodable(text: str) -> str:
    """Replaces every surrogate without its pair by U+FFFD, because UTF-8 cannot encode it.

    JSON with such an escape and file names that are not UTF-8 become text with surrogates.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def encodable_value(value: Any) -> Any:
    """Returns a JSON value with `encodable` strings and keys."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(str(key)): encodable_value(item) for key, item in value.items()}
    return [encodable_value(item) for item in value] if isinstance(value, list) else value


def make_encodable(document: Any) -> Any:
    """Returns a JSON document with `encodable` strings and keys; its lists and objects are changed in place,
    because a copy of a large document needs too much memory.
    """
    if isinstance(document, str):
        return encodable(document)
    if isinstance(document, list):
        for index, value in enumerate(document):
            document[index] = make_encodable(value)
    elif isinstance(document, dict):
        for key in tuple(document):
            document[encodable(key)] = make_encodable(document.pop(key))
    return document


def shortened(text: str, length: int) -> str:
    """Returns the text with at most this many characters; one that is cut off ends in `…`, after a whole word
    unless that is much shorter.
    """
    if len(text) <= length:
        return text
    word_end = text.rfind(" ", 0, length)
    return text[: word_end if word_end > length * 3 / 4 else length - 1] + "…"


def shortened_alike(texts: Sequence[str], length: int) -> list[str]:
    """Returns texts shortened as by `shortened`, but so that the first difference is shown: if it would be
    cut off, the beginning that they have in common is left out.
    """
    columns = enumerate(zip(*texts, strict=False))
    differs = (at for at, characters in columns if len(set(characters)) > 1)
    common = next(differs, min(map(len, texts), default=0)) if len(texts) > 1 else 0
    is_hidden = common > length - 2 * _BEFORE and any(len(text) > length for text in texts)
    start = common - _BEFORE if is_hidden else 0
    return [shortened(f"…{text[start:]}" if start else text, length) for text in texts]


def whole_line(text: str) -> str:
    """Returns the text as one line of any length, without control characters."""
    return " ".join(printable(text).split())


def single_line(text: str) -> str:
    """Returns the text as one line of at most 300 characters, without control characters."""
    read = text if len(text) <= _MAX_READ else f"{text[:_MAX_READ]}…"
    return shortened(whole_line(read), _MAX_LENGTH)
