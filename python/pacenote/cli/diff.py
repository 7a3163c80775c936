"""`pacenote diff`: what differs between the configurations of two races."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.tables import Fit, table
from pacenote.cli.parser import Parser
from pacenote.errors import StoreError
from pacenote.model.output_text import json_text
from pacenote.model.printable import shortened_alike, whole_line
from pacenote.store.race_store import RaceStore
from pacenote.units import format_count

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.compare.race_diff import RaceConfiguration, RaceDiff
    from pacenote.store.race_folder import RaceFolder

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_LONGEST = 60
_LONGEST_WRAPPED = 240
"""Number of characters of a value that are shown, without a terminal and on one."""

_NARROW = 18
_NARROW_KEY = 40
"""Columns to which values and keys are shortened on a narrow terminal."""

_ABSENT = "–"


def add_options(parser: Parser) -> None:
    """Adds the races and the format."""
    help_text = "id of a race, a unique prefix of it, or 'latest'"
    parser.add_argument("first", metavar="RACE", help=help_text)
    parser.add_argument(
        "second", metavar="RACE", help=f"{help_text}; the same race: what changed while it ran"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the output (default: text)",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the differences and returns 0, whether there are any or not. Raises StoreError."""
    from pacenote.compare.race_diff import compare_configurations

    store = RaceStore()
    folders = (store.folder(options.first), store.folder(options.second))
    first, second = _configurations(*folders, console)
    diff = compare_configurations(first, second)
    if options.format == "json":
        console.result(json_text(diff.to_document()))
    else:
        console.result(_text(diff, _labels(store, diff), console.result_width))
    return 0


def _configurations(
    first: RaceFolder, second: RaceFolder, console: Console
) -> tuple[RaceConfiguration, RaceConfiguration]:
    """Returns both sides, and warns about what they lack. Raises StoreError."""
    from pacenote.compare.race_diff import race_changes, race_configuration

    races = [(folder.read(), folder.read_snapshot()) for folder in (first, second)]
    for text in dict.fromkeys(folder.other_name for folder in (first, second) if folder.other_name):
        console.warning(text)
    if first.path == second.path:
        snapshot = races[0][1]
        if snapshot is None or snapshot.after is None:
            raise StoreError(
                f"race {first.path.name} has no snapshot of its end", hint="compare it with another race"
            )
        return race_changes(snapshot)
    missing = [record.race_id for record, snapshot in races if snapshot is None]
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        console.warning(
            f"{' and '.join(missing)} {verb} no snapshot of engine and machine: only race.json is compared"
        )
    sides = [race_configuration(record, None if missing else snapshot) for record, snapshot in races]
    return sides[0], sides[1]


def _labels(store: RaceStore, diff: RaceDiff) -> tuple[str, str]:
    """Returns short names for both sides."""
    short = store.short_ids(diff.names) if diff.names != ("before", "after") else {}
    first, second = (short.get(name, name) for name in diff.names)
    return first, second


def _text(diff: RaceDiff, labels: tuple[str, str], width: int | None) -> str:
    fit = Fit(width, ((0, _NARROW_KEY), (1, _NARROW), (2, _NARROW)), wraps_all=width is not None)
    longest = _LONGEST if width is None else _LONGEST_WRAPPED
    parts = [
        table(
            (group.title, *labels),
            [(each.key, *_cells(each.values, longest)) for each in group.differences],
            fit,
        )
        for group in diff.groups
    ]
    count = sum(len(group.differences) for group in diff.groups)
    counts = ", ".join(f"{group.title} {len(group.differences)}" for group in diff.groups)
    differ = f"{'differs' if count == 1 else 'differ'}{f' ({counts})' if len(diff.groups) > 1 else ''}"
    total = f"{format_count(count, 'fact')} {differ}, {diff.equal:,} are equal"
    # The reason why something was not read may be a response of the engine.
    return "\n".join((*parts, "\n".join((total, *map(whole_line, diff.notes), ""))))


def _cells(values: Sequence[str | None], longest: int) -> list[str]:
    """Returns both values as a table shows them, with the first difference; JSON has all of them."""
    shown = shortened_alike([value or "" for value in values], longest)
    return [_ABSENT if value is None else text for value, text in zip(values, shown, strict=True)]
