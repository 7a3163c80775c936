"""What is wrong with a document: problems, each with the key path of the value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

KeyPath = tuple[str | int, ...]
"""Where a value stands in a JSON document: keys and list positions from the root."""


def format_path(path: KeyPath) -> str:
    """Writes a key path as messages show it: `challenges[0].schedule[2].clients`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text or "the document"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `text` continues the sentence that the key path begins: "is missing"."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{format_path(self.path)} {self.text}"


class Problems:
    """Collects problems in the order they are found."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, path: KeyPath, text: str) -> None:
        """Notes a problem at `path`."""
        self._found.append(Problem(path, text))

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def preview(value: object) -> str:
    """A value as messages show it: JSON, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
