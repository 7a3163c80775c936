"""Codes for the reasons in a table, so that each is written once, below the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pacenote.model.printable import whole_line

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?")
"""A number in a reason. The one of a percentile is part of its name."""


@dataclass(frozen=True, slots=True)
class ReasonCodes:
    """The codes of reasons; those that differ only in their numbers have the same code."""

    codes: Mapping[str, str]
    """The code of each reason without its numbers."""

    notes: tuple[str, ...]
    """The reasons after their codes, each with the lowest and the highest of its numbers."""

    def of(self, reasons: Iterable[str]) -> str:
        """Returns the codes of reasons, separated by spaces."""
        return " ".join(dict.fromkeys(self.codes[_kind(whole_line(reason))] for reason in reasons))


def reason_codes(reasons: Iterable[str]) -> ReasonCodes:
    """Returns codes for reasons, in the order of their first appearance."""
    by_kind: dict[str, list[str]] = {}
    for reason in map(whole_line, reasons):
        by_kind.setdefault(_kind(reason), []).append(reason)
    codes = {kind: f"[{number}]" for number, kind in enumerate(by_kind, 1)}
    notes = (f"{codes[kind]} {_merged(alike)}" for kind, alike in by_kind.items())
    return ReasonCodes(codes, tuple(notes))


def _kind(reason: str) -> str:
    """Returns a reason with a character that no reason contains in place of each number."""
    return _NUMBER.sub("\0", reason)


def _merged(alike: Sequence[str]) -> str:
    """Returns reasons of one kind as one text, with a range for each number that varies."""
    columns = iter(zip(*(_NUMBER.findall(reason) for reason in alike), strict=True))
    return _NUMBER.sub(lambda _: _range(next(columns)), alike[0])


def _range(numbers: Sequence[str]) -> str:
    ordered = sorted(set(numbers), key=lambda number: float(number.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} … {ordered[-1]}"
