"""Findings that say the same with other numbers, which are one sentence."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from msgspec.structs import replace

from pacenote.model.finding import Finding

_NUMBER = re.compile(
    r"(?<![\w.,:/-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?: (?:µs|ms|s|min)\b)?(?![\w-]|[.,:]\S)"
)
"""A number in a sentence, with its unit of time; not one that is part of a name, such as `p99`."""

IN_RACES = " (in "
"""What precedes the races at the end of a reason."""

_UP_TO_RANGE = re.compile(rf"\bup to (?={_NUMBER.pattern} to )")
"""What is superfluous before a range of numbers."""

Shape = tuple[str, ...]
"""A text without its numbers."""

_SECONDS = {"": 1.0, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


def sentence_key(finding: Finding) -> Hashable:
    """Returns what findings of several comparisons share that are one sentence: they concern the same tasks,
    in any order, and differ in numbers and races only.
    """
    text, _, _ = _text_and_races(finding)
    return shape(text), finding.cause, finding.advice, finding.doubtful_from, frozenset(finding.tasks)


def in_one_sentence(findings: Sequence[Finding]) -> Finding:
    """Returns findings with one key as one, with the lowest and the highest of each number, and the races of
    each.
    """
    parts = [_text_and_races(finding) for finding in findings]
    text = in_one([text for text, _, _ in parts])
    if places := list(dict.fromkeys(races for _, separator, races in parts if separator)):
        is_one = len(set(map(shape, places))) == 1
        text += f"{IN_RACES}{in_one(places) if is_one else '; '.join(places)})"
    return replace(findings[0], text=text)


def _text_and_races(finding: Finding) -> tuple[str, str, str]:
    """Returns the text of a finding without the races at its end, what separates the two, and the races."""
    text, separator, races = finding.text.rpartition(IN_RACES)
    if not separator or not races.endswith(")"):
        return finding.text, "", ""
    return text, separator, races.removesuffix(")")


def shape(text: str) -> Shape:
    """Returns a text without its numbers."""
    return tuple(_NUMBER.split(text))


def in_one(texts: Sequence[str]) -> str:
    """Returns texts that differ in numbers only as one, with the lowest and the highest of each number."""
    numbers = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    text = _NUMBER.sub(lambda _: _range(next(numbers)), texts[0])
    return _UP_TO_RANGE.sub("", text)


def _range(numbers: Sequence[str]) -> str:
    ordered = sorted(set(numbers), key=_size)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _size(number: str) -> float:
    value, _, unit = number.partition(" ")
    return float(value.replace(",", "")) * _SECONDS[unit]
