"""Parses JSON and TOML that Pacenote did not write itself, or that something may have changed since.

Python's parsers accept more than the formats have (`NaN`, `1e999`), and fail in their own ways: with a
RecursionError for deep nesting, with advice about `sys` for a number of thousands of digits. Here, every such
text is a ValueError with a reason that fits into a message after the name of the file.

A document can take fifty times the memory of its text, so that its values are counted before it is parsed.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NoReturn

MAX_DEPTH = 200
"""Levels of lists and objects that a document may have: what goes through it may use recursion."""


MAX_MEMORY_BYTES = 512 << 20
"""Memory that the values of a document may take, in bytes, as `_COSTS` estimates it. A text of 64 MiB with
values of twenty characters takes 300 MiB.
"""

MAX_TOML_BYTES = 1 << 20
"""Size of the largest TOML document, which takes up to 300 MiB and seconds: people write a few kilobytes."""

_MAX_KEY_PARTS = 16
"""Parts of the longest key of a TOML document, of which people write up to ten. Python's parser takes a time
that grows with their square, and with those of the table times those of its keys.
"""

_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_NEXT_PART = rf"[ \t]*+\.[ \t]*+{_PART}"
_TOML_TOKEN = re.compile(
    rf"(?P<long>{_PART}(?:{_NEXT_PART}){{{_MAX_KEY_PARTS}}})"
    r'|"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+(?:"""\"{0,2}|\\?\Z)'
    r"|'''(?:[^']++|'(?!''))*+(?:''''{0,2}|\Z)"
    rf"|{_PART}(?:{_NEXT_PART})*+|#[^\n]*+|[\"'][^\n]*+"
)
"""A long key; a text of several lines, a key or value, or a comment, in which nothing else is looked for; or
a text without an end, at which Python's parser stops.
"""

_COSTS = {b"{": 140, b"[": 64, b",": 60, b":": 60}
"""Bytes of memory for each character outside and inside of texts: those of an object, of a list, of a short
text or a number with its place in a list, and of a key with its place in an object.
"""

_WIDE_CHARACTER = 4
"""Bytes that each character of a text takes if one of them is not in ASCII, as in the worst case."""

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
"""A text of a JSON document, also one that does not end, so that the search takes linear time."""

MAX_REPLY_BYTES = 64 << 20
"""Size of the largest body of an operation's response that is parsed, like that of a reply to the engine's
client.
"""

_MAX_DIGITS = 100
"""Digits of an integer. One of 309 digits is larger than any float, and sums and products of shorter ones may
be.
"""

_MAX_BITS = 332
"""Bits of an integer of so many digits."""

_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS_OR_QUOTES = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_TOO_MANY_DIGITS = "it has a number of too many digits"
_LONG_NUMBER = b"0" * (_MAX_DIGITS + 1)

NotFinite = Literal["refused", "none", "kept"]
"""What becomes of `NaN`, `1e999` and integers of more than a hundred digits. Rally writes NaN for what it
could not compute, which is read as None; documents that a cluster stores may have `1e999`, which is kept as
infinity.
"""


def parse_json(text: str | bytes, not_finite: NotFinite = "refused") -> Any:
    """Returns a JSON document. Raises ValueError; it is a JSONDecodeError if the text is not JSON.

    `not_finite` says what becomes of numbers that are not finite. Bytes must be UTF-8, without halves of
    surrogate pairs, and may have a byte order mark.
    """
    if isinstance(text, bytes):
        text = data = text.removeprefix(codecs.BOM_UTF8)
    else:
        data = text.encode("utf-8", "replace")
    if memory_of_values(data) > MAX_MEMORY_BYTES:
        raise TooManyValues
    constant, number = _READERS[not_finite]
    # Python's own reader of integers is much faster.
    has_long_number = _LONG_NUMBER in data.translate(_AS_ZEROS)
    integer = _INTEGER_READERS[not_finite] if has_long_number else None
    if not has_long_number:
        import msgspec  # Slow to import, and not needed for `--help`.

        # It refuses all that is not JSON, also what Python's own parser reads.
        with contextlib.suppress(msgspec.DecodeError, ValueError, RecursionError):
            document = msgspec.json.decode(text)
            if not _is_shallow(data):
                check_depth(document)
            return document
    try:
        document = json.loads(
            # It also takes bytes for UTF-16 or UTF-32, which checks of the bytes do not expect.
            text.decode("utf-8") if isinstance(text, bytes) else text,
            parse_constant=constant,
            parse_float=number,
            parse_int=integer,
        )
    except (json.JSONDecodeError, UnusableNumber):
        raise
    except (RecursionError, ValueError) as error:
        raise _undecodable(error) from error
    check_depth(document)
    return document


def memory_of_values(text: bytes) -> int:
    """Returns about how many bytes of memory the values of a JSON document take, at most."""
    structure = sum(cost * text.count(character) for character, cost in _COSTS.items())
    wide = 0 if text.isascii() and b"\\u" not in text else sum(_wide_texts(text))
    return structure + len(text) + wide * (_WIDE_CHARACTER - 1)


def _wide_texts(text: bytes) -> Iterator[int]:
    """Yields the lengths of the texts in a JSON document whose characters may take four bytes each."""
    for match in _TEXT.finditer(text):
        if not match[0].isascii() or b"\\u" in match[0]:
            yield len(match[0])


def parse_reply(body: bytes) -> Any:
    """Returns the body of an operation's response as `parse_json` does. Raises ValueError; it is a
    ReplyTooLarge if the body has more than `MAX_REPLY_BYTES`.
    """
    if len(body) > MAX_REPLY_BYTES:
        raise ReplyTooLarge
    return parse_json(body)


def parse_toml(text: str) -> dict[str, Any]:
    """Returns a TOML document, which may have numbers that are not finite. Raises ValueError, whose text has
    the line if the text is not TOML.
    """
    if len(text.encode("utf-8", "replace")) > MAX_TOML_BYTES:
        raise ValueError(f"it is larger than {MAX_TOML_BYTES >> 20} MiB")
    for token in _TOML_TOKEN.finditer(text):
        if token["long"]:
            line = text.count("\n", 0, token.start()) + 1
            raise ValueError(f"it has a key of more than {_MAX_KEY_PARTS} parts (at line {line})")
    import tomllib  # Not needed for most commands.

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (RecursionError, OverflowError, ValueError) as error:
        raise _undecodable(error) from error
    check_depth(document)
    if _has_long_number(document):
        raise ValueError(_TOO_MANY_DIGITS)
    return document


def _has_long_number(document: object) -> bool:
    """Returns whether a document has an integer of too many digits: Python's parser only limits
    those of decimal ones.
    """
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            return True
        waiting += _values_in(value)
    return False


def _is_shallow(text: bytes) -> bool:
    """Returns whether the brackets of JSON alone show that it has at most `MAX_DEPTH` levels."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Every second part is a text.
    brackets = b"".join(text.translate(_AS_LISTS, _NO_BRACKETS_OR_QUOTES).split(b'"')[::2])
    # A round removes one level: what becomes a pair is removed in the next one.
    return any(not (brackets := brackets.replace(b"[]", b"")) for _ in range(MAX_DEPTH))


def check_depth(document: Any) -> None:
    """Raises TooDeep if a document has more than `MAX_DEPTH` levels."""
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [child for container in level for child in _containers_in(container)]
        if not level:
            return
    raise TooDeep


class TooDeep(ValueError):
    """A document has more than `MAX_DEPTH` levels."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {MAX_DEPTH} levels deep")


class TooManyValues(ValueError):
    """The values of a document would take more memory than `MAX_MEMORY_BYTES`."""

    def __init__(self) -> None:
        super().__init__(f"its values take more than {MAX_MEMORY_BYTES >> 20} MiB of memory")


class ReplyTooLarge(ValueError):
    """The body of a response has more than `MAX_REPLY_BYTES`."""

    def __init__(self) -> None:
        super().__init__(f"is larger than {MAX_REPLY_BYTES >> 20} MiB")


class UnusableNumber(ValueError):
    """A number that JSON does not have, that is infinite as a number of the machine, or that has hundreds of
    digits.
    """

    def __init__(self, reason: str, number: str = "") -> None:
        super().__init__(reason)
        self.number = number
        """The number in the text, or empty if it has hundreds of digits."""


def _values_in(value: object) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _containers_in(value: Any) -> list[Any]:
    return [child for child in _values_in(value) if isinstance(child, dict | list)]


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _reject(text)


def _finite_or_none(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _reject(text: str) -> NoReturn:
    raise UnusableNumber(f"{text[:20]} is not a finite number", text)


_READERS: dict[NotFinite, tuple[Callable[[str], Any] | None, Callable[[str], Any] | None]] = {
    "refused": (_reject, _finite),
    "none": (lambda _: None, _finite_or_none),
    "kept": (None, None),
}


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise UnusableNumber(_TOO_MANY_DIGITS)
    return int(text)


def _integer_or_none(text: str) -> int | None:
    return int(text) if len(text) <= _MAX_DIGITS else None


def _integer_or_infinite(text: str) -> float:
    if len(text) <= _MAX_DIGITS:
        return int(text)
    return -math.inf if text.startswith("-") else math.inf


_INTEGER_READERS: dict[NotFinite, Callable[[str], Any]] = {
    "refused": _integer,
    "none": _integer_or_none,
    "kept": _integer_or_infinite,
}


def _undecodable(error: Exception) -> ValueError:
    """Returns an error whose text is a reason, for one of the parser."""
    if isinstance(error, RecursionError):
        return TooDeep()
    if isinstance(error, UnicodeDecodeError):
        return ValueError("it is not UTF-8 text")
    if "integer string conversion" in str(error):
        return UnusableNumber(_TOO_MANY_DIGITS)
    return ValueError(str(error))
