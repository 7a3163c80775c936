"""Finds any of many texts in another one, in a time that hardly depends on how many they are."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import AnyStr, Generic

_BEGINNING = 4
"""Characters of texts that one expression searches for; what follows is looked up in a sorted list."""


class TextSearch(Generic[AnyStr]):
    """Finds the longest of many texts at each position of another one; all are `str`, or all `bytes`."""

    def __init__(self, texts: Iterable[AnyStr]) -> None:
        """Sorts the texts; empty ones are left out."""
        self.texts: tuple[AnyStr, ...] = tuple(sorted({text for text in texts if text}))
        """The texts, sorted."""
        self._within = _beginnings_within(self.texts)
        self._shortest: list[AnyStr] = _first_ones(self.texts, self._within)
        self._longest = max(map(len, self.texts), default=0)
        beginnings = sorted({text[:_BEGINNING] for text in self.texts})
        self.beginnings: re.Pattern[AnyStr] | None = re.compile(_any_of(beginnings)) if beginnings else None
        """Finds what may be one of the texts: their first characters; None without texts."""

    def spans(self, text: AnyStr) -> Iterator[tuple[int, int]]:
        """Yields where the texts are in another one: the first, and the longest of several at a position."""
        start = self.find(text)
        while start >= 0:
            end = self._end_at(text, start)
            yield start, end
            start = self.find(text, end)

    def find(self, text: AnyStr, position: int = 0) -> int:
        """Returns where the first of the texts begins at or after a position of another one, or -1."""
        if self.beginnings is None:
            return -1
        candidate = self.beginnings.search(text, position)
        while candidate is not None:
            start = candidate.start()
            if self._end_at(text, start) > start:
                return start
            candidate = self.beginnings.search(text, start + 1)
        return -1

    def replace(self, text: AnyStr, replacement: AnyStr) -> AnyStr:
        """Returns a text with a replacement for each of the texts in it."""
        if self.beginnings is None or self.beginnings.search(text) is None:
            return text
        parts: list[AnyStr] = []
        last = 0
        for start, end in self.spans(text):
            parts.extend((text[last:start], replacement))
            last = end
        parts.append(text[last:])
        return text[:0].join(parts)

    def cut_at(self, text: AnyStr) -> int:
        """Returns where the longest beginning of one of the texts, of four characters or more, is at the end
        of another one; the length of that one if there is none.
        """
        start = max(0, len(text) - self._longest)
        while self.beginnings is not None and (candidate := self.beginnings.search(text, start)) is not None:
            start = candidate.start()
            if len(text) - start < _BEGINNING:
                break
            end = text[start:]
            position = bisect_left(self.texts, end)
            if position < len(self.texts) and self.texts[position].startswith(end):
                return start
            start += 1
        return len(text)

    def _end_at(self, text: AnyStr, start: int) -> int:
        """Returns the end of the longest of the texts at a position, or the position if none is there."""
        index = bisect_right(self.texts, text[start : start + self._longest]) - 1
        # A text at this position is the last one of those before what is there, or a beginning of it.
        if index < 0 or not text.startswith(self._shortest[index], start):
            return start
        while index >= 0:
            if text.startswith(self.texts[index], start):
                return start + len(self.texts[index])
            index = self._within[index]
        return start


def _beginnings_within(texts: tuple[AnyStr, ...]) -> list[int]:
    """Returns for each of sorted texts the position of the longest other one that it begins with, or -1."""
    within, open_ = list[int](), list[int]()
    for index, text in enumerate(texts):
        while open_ and not text.startswith(texts[open_[-1]]):
            open_.pop()
        within.append(open_[-1] if open_ else -1)
        open_.append(index)
    return within


def _first_ones(texts: tuple[AnyStr, ...], within: list[int]) -> list[AnyStr]:
    """Returns the shortest beginning of each text that is one of the texts, perhaps itself."""
    shortest = list[AnyStr]()
    for text, index in zip(texts, within, strict=True):
        shortest.append(text if index < 0 else shortest[index])
    return shortest


def _any_of(texts: list[AnyStr]) -> AnyStr:
    """Returns an expression for any of sorted texts that differ; shared beginnings are in it once."""
    groups = dict[AnyStr, list[AnyStr]]()
    empty = texts[0][:0]
    for text in texts:
        groups.setdefault(text[:1], []).append(text[1:])
    # A text that ends here is a beginning of all others, and enough to look further.
    if empty in groups:
        return empty
    alternatives = [re.escape(first) + _any_of(rests) for first, rests in groups.items()]
    return alternatives[0] if len(alternatives) == 1 else _joined(alternatives)


def _joined(alternatives: list[AnyStr]) -> AnyStr:
    first = alternatives[0]
    if isinstance(first, bytes):
        return b"(?:" + b"|".join(alternatives) + b")"
    return "(?:" + "|".join(alternatives) + ")"
