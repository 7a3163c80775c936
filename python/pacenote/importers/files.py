"""Finds and reads files with results of other tools."""

from __future__ import annotations

import codecs
import hashlib
import html
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.errors import PacenoteError
from pacenote.importers.documents import FILE_NAMES, is_race_document, races_in_document
from pacenote.importers.found_race import FoundRace
from pacenote.importers.names import MAX_FIGURES
from pacenote.importers.table_races import MAX_RACES, races_in_text
from pacenote.model.decoding import parse_json
from pacenote.system.paths import is_link
from pacenote.system.regular_files import read_regular_file

_BEGINS_WITH_TAG = re.compile(r"\s*<[!?a-z]", re.IGNORECASE)
_TAGS = re.compile(r"<(?:!doctype html|html|body|table|pre)\b", re.IGNORECASE)

_ROW = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_ROW_END = re.compile(r"</tr\s*>|</table\s*>", re.IGNORECASE)
_CELL = re.compile(r"<t[dh]\b[^<>]*>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>|</(?:p|div|li|h\d)\s*>", re.IGNORECASE)
_LONG_REFERENCE = re.compile(r"&#(?:[xX][0-9a-fA-F]{8,}|\d{8,});?")
"""A reference to a character that does not exist. Python does not read numbers of thousands of digits."""
_TAG = re.compile(r"<[/!]?[a-zA-Z][^<>]*>")

MAX_FILES = 10_000
"""Number of races that a folder may have."""

MAX_FACTS = 64 << 20
"""Characters of what a file says about its races, with that of the whole file once for each of them."""

_DEPTH = 4
"""Levels of folders that are searched: `~/.rally` has its races in `benchmarks/races/ID`."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_EXPECTED = (
    "expected race.json, test_run.json or test_execution.json, or a summary or comparison of Rally or "
    "OpenSearch Benchmark"
)


class ReadFile(Struct, frozen=True):
    """A file that was read."""

    sha256: str
    """SHA-256 of its content, as hexadecimal digits."""

    races: tuple[FoundRace, ...]
    """Its races; not empty."""

    problems: tuple[str, ...]
    """What of it was left out, one sentence each."""


def race_files(folder: Path) -> tuple[Path, ...]:
    """Returns the race documents in a folder and below it, sorted. Links are not followed.

    Raises PacenoteError if there are none or too many.
    """
    files, links = list[Path](), list[Path]()
    for path in _documents(folder):
        (links if is_link(path) else files).append(path)
    if not files and links:
        raise PacenoteError(
            f"{folder} has only links to races, such as {links[0]}", hint="name the files themselves"
        )
    if not files:
        raise PacenoteError(
            f"{folder} has no race", hint=f"expected {', '.join(FILE_NAMES[:3])} in it or in folders below it"
        )
    if len(files) > MAX_FILES:
        raise PacenoteError(f"{folder} has more than {MAX_FILES:,} races", hint="import parts of it")
    return tuple(sorted(files))


def _documents(folder: Path) -> Iterator[Path]:
    """Yields what has the name of a race document. No link is looked at: `os.walk` follows each, to know
    whether it leads to a folder.
    """
    waiting = [(folder, 0)]
    while waiting:
        here, depth = waiting.pop()
        try:
            with os.scandir(here) as entries:
                folders = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue
        yield from (here / name for name in FILE_NAMES if folders.get(name) is False)
        if depth < _DEPTH:
            waiting += [(here / name, depth + 1) for name, is_folder in folders.items() if is_folder]


def read_file(path: Path) -> ReadFile:
    """Reads the races of a file. Raises PacenoteError, whose message begins with the path."""
    try:
        data = read_regular_file(path)
    except FileNotFoundError:
        raise PacenoteError(f"{path} does not exist") from None
    except OSError as error:
        raise PacenoteError(f"{path} cannot be read: {error.strerror}") from error
    try:
        races, problems = _races(data)
    except PacenoteError as error:
        raise PacenoteError(f"{path}: {error.message}", hint=error.hint) from error
    if len(races) > MAX_RACES or sum(len(race.values) for race in races) > MAX_FIGURES:
        raise PacenoteError(
            f"{path} has more than {MAX_RACES:,} races or {MAX_FIGURES:,} figures", hint="split the file"
        )
    if len(races) > 1 and _facts_size(races) > MAX_FACTS:
        raise PacenoteError(
            f"{path} says too much about each of its {len(races):,} races",
            hint="shorten its tags and parameters",
        )
    return ReadFile(hashlib.sha256(data).hexdigest(), races, problems)


def _facts_size(races: Sequence[FoundRace]) -> int:
    """Returns how many characters the parameters and tags of all races have together, and the rows that
    contradict each other. Those of several races may be the same object, but each race is stored with them.
    """
    sizes: dict[int, int] = {}
    for race in races:
        for shared in (race.facts, race.contradictions):
            if id(shared) not in sizes:
                sizes[id(shared)] = len(repr(shared))
    return sum(sizes[id(race.facts)] + sizes[id(race.contradictions)] for race in races)


_Races = tuple[tuple[FoundRace, ...], tuple[str, ...]]
"""Races, and what was left out."""


def _races(data: bytes) -> _Races:
    text = _text(data)
    if not text.strip():
        raise PacenoteError("it is empty", hint=_EXPECTED)
    if text.lstrip()[:1] != "{":
        return _races_in_page_or_text(text)
    try:
        document = parse_json(text, not_finite="none")
    except ValueError as error:
        raise PacenoteError(f"it is not readable JSON: {error}", hint="the file is damaged") from error
    if not is_race_document(document):
        raise PacenoteError("it is JSON, but not a race", hint=_EXPECTED)
    return races_in_document(document)


def _races_in_page_or_text(text: str) -> _Races:
    """Reads the tables of a web page or of a text, which may contain a part of a web page."""
    if is_page(text):
        return races_in_text(text_of_html(text))
    try:
        return races_in_text(text)
    except PacenoteError:
        if not has_tags(text):
            raise
        return races_in_text(text_of_html(text))


def _text(data: bytes) -> str:
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace").removeprefix("\ufeff")
    if b"\0" in data[:4096]:
        raise PacenoteError("it is not text", hint=_EXPECTED)
    return data.decode("utf-8", "replace")


def is_page(text: str) -> bool:
    """Returns whether a text is a web page or a part of one: it has its tags, and begins with one."""
    return _BEGINS_WITH_TAG.match(text) is not None and has_tags(text)


def has_tags(text: str) -> bool:
    """Returns whether a text has tags of a web page, or of a table."""
    return _TAGS.search(text) is not None


def text_of_html(text: str) -> str:
    """Returns the text of a web page, with each row of a table as a line with bars."""
    before, *rows = _ROW.split(text)
    parts = [_plain(before)]
    for row in rows:
        end = _ROW_END.search(row)
        cells = _CELL.split(row[: end.start()] if end else row)[1:]
        line = " | ".join(" ".join(_plain(cell).split()).replace("|", "\\|") for cell in cells)
        parts += [f"| {line} |" if cells else "", _plain(row[end.end() :]).strip() if end else ""]
    # A blank line would end a table.
    return "\n".join(part for part in parts if part)


def _plain(text: str) -> str:
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", _TAG.sub("", _BREAK.sub("\n", text))))
