"""Texts that several pages have: sentences, commands with their purposes, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pacenote.report.page.page import PageCommand, Text
from pacenote.report.trend import capitalized

_PROGRAM = "pacenote "


def sentence(text: str) -> str:
    """Returns a text as a sentence; an empty one stays empty, and one that is cut off gets no point."""
    return capitalized(text) if text.endswith("…") or not text else f"{capitalized(text)}."


def command_blocks(commands: Iterable[tuple[str, str]]) -> Iterator[Text | PageCommand]:
    """Yields commands, each below its purpose if it has one."""
    for text, purpose in commands:
        if purpose:
            yield Text(f"{capitalized(purpose)}:")
        yield PageCommand(text)


def next_blocks(lines: Iterable[str]) -> Iterator[Text | PageCommand]:
    """Yields what to do next; a line such as `PURPOSE: pacenote …` becomes a command to copy."""
    for line in lines:
        purpose, _, command = line.partition(": ")
        if command.startswith(_PROGRAM) and not command.endswith("…"):
            yield from command_blocks([(command, f"next, {purpose}")])
        else:
            yield Text(f"Next: {line}{'' if line.endswith('…') else '.'}")
