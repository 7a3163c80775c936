"""Problems of a JSON document, each with the key path of the wrong value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sized

from msgspec import Struct

MOST_PROBLEMS = 100
"""Number of problems of a file after which it is not read further: each may take a comparison of names."""

KeyPath = tuple[str | int, ...]
"""The path of a value in a JSON document: keys and list indices from the root."""


class TooManyProblems(Exception):
    """A file has `MOST_PROBLEMS` problems."""


def count_text(problems: Sized) -> str:
    """Returns how many mistakes a file has, of which `MOST_PROBLEMS` are listed."""
    count = f"{len(problems)}" if len(problems) < MOST_PROBLEMS else f"{MOST_PROBLEMS} or more"
    return f"{count} mistakes"


def check_count(problems: Sized) -> None:
    """Raises TooManyProblems if there are `MOST_PROBLEMS` already."""
    if len(problems) >= MOST_PROBLEMS:
        raise TooManyProblems


def format_path(path: KeyPath) -> str:
    """Formats a key path for messages: `challenges[0].schedule[2].clients`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "the document"


class Problem(Struct, frozen=True):
    """One problem of a document."""

    path: KeyPath
    """The path of the wrong value."""

    text: str
    """What is wrong, as the rest of a sentence that begins with the path, such as "is missing"."""

    rendered: str = ""
    """The text that is wrong, as key and value, which may come from a parameter of the track; empty if there
    is none.
    """

    def __str__(self) -> str:
        return f"{format_path(self.path)} {self.text}"


class Problems:
    """Collects problems in the order in which they are found."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, path: KeyPath, text: str, rendered: str = "") -> None:
        """Records a problem at `path`; `rendered` is the text that is wrong."""
        self._found.append(Problem(path, text, rendered))

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def preview(value: object) -> str:
    """Formats a value for messages: JSON, shortened to 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def describe_value(value: object) -> str:
    """Formats a value of any type for messages: its type and the beginning of its text."""
    if value is None:
        return "nothing"
    try:
        text = preview(value)
    except (TypeError, ValueError):
        text = "…"
    return f"a value of type {type(value).__name__} ({text})"
