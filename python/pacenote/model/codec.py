"""Types that are stored, and their conversion to JSON documents and back, strictly, with msgspec.

A document from the driver or from disk must match the types exactly; otherwise, the error names the
invalid field. A field with a default may be missing; `object` accepts any JSON value. What is only shown or
exported may also be another struct, or a dataclass: `encode` takes all of them.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import Meta, Struct, ValidationError

from pacenote.errors import PacenoteError

T = TypeVar("T")

_NEWER = "it was probably written by a newer version of Pacenote"
_MAX_SHOWN = 60

_MAX_NUMBER_CHARS = 400
"""Characters of the text of a number, at most: the largest one has 309 digits."""

MAX_NUMBER = 1e75
"""The largest number of a document, and the negative one: it can be raised to the fourth power."""

MIN_NUMBER = 1e-75
"""The smallest number above 0 of a stored document, and the negative one: those closer to 0 are read as 0."""

MAX_INTEGER = 2**63 - 1
"""The largest whole number of a stored type."""

Integer = Annotated[int, Meta(ge=-MAX_INTEGER - 1, le=MAX_INTEGER)]
"""A whole number of a stored type: of 64 bits with its sign."""

Seed = Annotated[int, Meta(ge=0)]
"""A seed, which has 64 bits without a sign; msgspec's limits have one, so that its types use `check_seed`."""

Number = Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
"""A number of a stored type: finite, and not above `MAX_NUMBER`."""

MAX_NAME = 1_000
"""The most characters of a name that the figures of a race repeat; those of tracks and engines have fewer."""

Name = Annotated[str, Meta(max_length=MAX_NAME)]
"""The name of a task, an operation, an index, a unit or the like, which each figure of it repeats."""

_EXPECTED = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "an object",
    "str": "text",
}
"""The names of msgspec's types in messages."""

_known_types = set[object]()
_first_use = threading.RLock()


class Stored(Struct, frozen=True, forbid_unknown_fields=True):
    """A value that is stored as an object with its fields; documents with other fields are refused."""

    _hidden: ClassVar[tuple[str, ...]] = ()
    """Fields that may contain secrets: the representation leaves them out."""

    def __repr__(self) -> str:
        """Returns the representation, which tracebacks and messages of tests contain."""
        names = (name for name in self.__struct_fields__ if name not in self._hidden)
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({shown})"


def as_text(value: object) -> str:
    """Returns a text, or a number as text, such as a server reports.

    Raises TypeError for everything else: the text of a list or an object has an escape in place of each
    control character of what is in it, and so may have sixteen times the size of a reply.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise TypeError("not a text or a number")


def as_number(value: object) -> float:
    """Returns a number or the text of one, such as a server reports. Raises ValueError, TypeError and
    OverflowError if it is not a number.
    """
    return float(_short_number(value))


def as_integer(value: object) -> int:
    """Returns a number or the text of one, such as an engine reports, as an `Integer`.

    Raises ValueError and TypeError if it is not a number, and OverflowError if it has more than 64 bits.
    """
    number = int(_short_number(value))
    if not -MAX_INTEGER <= number <= MAX_INTEGER:
        raise OverflowError("a whole number of more than 64 bits")
    return number


def _short_number(value: object) -> int | float | str:
    """Returns a number, or a text that is no longer than one. Raises ValueError and TypeError."""
    if not isinstance(value, int | float | str):
        raise TypeError("not a number")
    # Python's error repeats the whole text, with escapes.
    if isinstance(value, str) and len(value) > _MAX_NUMBER_CHARS:
        raise ValueError("a text that is longer than a number")
    return value


def check_seed(seed: int | None) -> None:
    """Raises ValueError, which `decode` reports with its place, for a seed of more than 64 bits."""
    if seed is not None and seed >= 2**64:
        raise ValueError("a seed has at most 64 bits")


def encode(value: object) -> Any:
    """Returns the JSON-ready form of a stored value or a dataclass, or of a container of them."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def decode(kind: type[T], document: object, path: str) -> T:
    """Reads a document as `kind`, a stored type or any type of its fields; errors call the document `path`.

    Raises PacenoteError with the first field that is unknown, missing or of the wrong type.
    """
    try:
        return _converted(document, kind)
    except ValidationError as error:
        raise _invalid(error, kind, document, path) from error


def decode_text(kind: type[T], text: str) -> T:
    """Reads JSON of the Rust core as `kind`, faster than `decode`. Raises ValueError."""
    return _with_known_type(kind, lambda: msgspec.json.decode(text, type=kind))


def _converted(document: object, kind: type[T]) -> T:
    """Reads a document. Raises ValidationError."""
    return _with_known_type(kind, lambda: msgspec.convert(document, kind, dec_hook=_read_path))


def _with_known_type(kind: type[T], read: Callable[[], T]) -> T:
    """Returns what `read` returns, which lets msgspec read a value of a type.

    msgspec examines a type, with those of its fields, when it is used for the first time; two threads that do
    so at the same time crash the process.
    """
    if kind in _known_types:
        return read()
    with _first_use:
        try:
            return read()
        finally:
            _known_types.add(kind)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _read_path(kind: type, value: object) -> object:
    """Reads a path; msgspec leaves it and fields of type `object` to this function."""
    if kind is not Path:
        return value
    if isinstance(value, str):
        return Path(value)
    raise TypeError("Expected `str`")


def _invalid(error: ValidationError, kind: type, document: Any, path: str) -> PacenoteError:
    """Translates an error such as "Expected `int`, got `str` - at `$.tasks[0].clients`"."""
    if match := re.fullmatch(r"Expected `str` of length .* - at `key` in `\$(.*)`", str(error)):
        return PacenoteError(f"{path}{match[1]} has a key of more than {MAX_NAME:,} characters")
    # The place comes last, but a name in the document may look like one.
    text, has_place, at = str(error).rpartition(" - at `$")
    try:
        steps = _steps(at, text, kind, document) if has_place else []
        value = _value_at(document, steps)
    except (LookupError, TypeError, ValueError, AttributeError):
        has_place, steps, value = "", [], document
    if not has_place:
        text = str(error)
    where = path + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    if match := re.fullmatch(r"Object missing required field `(.+)`", text):
        return PacenoteError(f"{where} lacks the field '{match[1]}'")
    if match := re.fullmatch(r"Object contains unknown field `(.+)`", text):
        return PacenoteError(f"{where} has the unknown field '{match[1]}'", hint=_NEWER)
    if text.startswith("Invalid enum value"):
        return PacenoteError(f"{where} has the unknown value {_shown(value)}", hint=_NEWER)
    if match := re.match(r"Expected `(\w+)", text):
        return PacenoteError(f"{where} must be {_expected(match[1], value)}, not {_shown(value)}")
    return PacenoteError(f"{where} cannot be read: {text}")


def _steps(at: str, text: str, kind: type, document: Any) -> list[str | int]:
    """Returns the keys and indices of a path in msgspec's notation, such as `.tasks[0].names[...]`, in which
    the keys of mappings are missing.
    """
    steps: list[str | int] = []
    for name, index in re.findall(r"\.([^.\[`]+)|\[(\d+|\.\.\.)\]", at):
        if index == "...":
            document, key = _first_wrong(document, steps, text, kind)
            steps.append(key)
        else:
            steps.append(int(index) if index else name)
    return steps


def _first_wrong(document: Any, steps: list[str | int], text: str, kind: type) -> tuple[Any, str]:
    """Returns the document with only the first entry that msgspec refuses in the mapping at a place, and the
    key of this entry.
    """
    entries = list(_value_at(document, steps).items())
    while len(entries) > 1:
        half = entries[: len(entries) // 2]
        is_wrong = _refusal(_replaced(document, steps, dict(half)), kind).startswith(f"{text} - ")
        entries = half if is_wrong else entries[len(half) :]
    return _replaced(document, steps, dict(entries)), str(entries[0][0])


def _refusal(document: object, kind: type) -> str:
    """Returns why msgspec refuses a document, or empty text if it does not."""
    try:
        _converted(document, kind)
    except ValidationError as error:
        return str(error)
    return ""


def _replaced(document: Any, steps: list[str | int], value: object) -> Any:
    """Returns the document with another value at a place."""
    if not steps:
        return value
    changed = document.copy()
    changed[steps[0]] = _replaced(document[steps[0]], steps[1:], value)
    return changed


def _value_at(document: Any, steps: list[str | int]) -> Any:
    for step in steps:
        document = document[step]
    return document


def _expected(name: str, value: object) -> str:
    """Returns what a value must be that is not of msgspec's type `name`, or not within its limits."""
    if name == "int" and type(value) is int:
        return "a whole number of 64 bits with its sign"
    if name == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return f"a number of at most {MAX_NUMBER:g}" if abs(value) < math.inf else "a finite number"
    if name == "str" and isinstance(value, str):
        return f"text of at most {MAX_NAME:,} characters"
    return _EXPECTED.get(name, name)


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text[:_MAX_SHOWN]}…" if len(text) > _MAX_SHOWN else text
