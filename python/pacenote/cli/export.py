"""`pacenote export`: writes races as JSON, CSV, Parquet or OpenMetrics text."""

from __future__ import annotations

import argparse
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.metrics_store import add_store_option, configured_store
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import StoreError, UsageError
from pacenote.model.output_text import log_text
from pacenote.units import format_count

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.export.document import ExportedRace
    from pacenote.store.race_groups import ReferencedRace

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".prom": "openmetrics", ".openmetrics": "openmetrics"}
"""Ends of the names of files, with the format that they stand for."""


def add_options(parser: Parser) -> None:
    """Adds the races and where they go."""
    parser.add_argument(
        "races",
        nargs="+",
        metavar="RACE",
        help="ids of races, unique prefixes, 'latest', tag:KEY=VALUE or folders of races",
    )
    parser.add_argument(
        "--format",
        choices=tuple(_DESTINATIONS),
        metavar="FORMAT",
        help="json, csv, parquet or openmetrics (default: as the name of --output ends, otherwise json)",
        harmless=True,
    )
    parser.add_argument(
        "--output",
        type=values.output_file,
        metavar="FILE",
        help="write to this file, which is replaced when all races are written (default: standard output)",
    )
    parser.add_flag(
        "--to-store", help="write to the metrics store that [reporting] configures, as Rally does"
    )
    add_store_option(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Exports the races and returns the exit code. Raises StoreError, and UsageError for a format that needs
    a file.
    """
    name = options.format or _format_of(options.output)
    races = _Races(options.races, console, repeats=options.to_store or name != "json")
    if options.to_store:
        return _to_store(races, options, console)
    _DESTINATIONS[name](races, options)
    if options.output is not None:
        console.progress(f"exported {format_count(races.count, 'race')} to {options.output}")
    return 0


def _format_of(output: Path | None) -> str:
    return _SUFFIXES.get(output.suffix.lower(), "json") if output is not None else "json"


class _Races:
    """The races that the references name, which are read one after the other."""

    def __init__(self, references: list[str], console: Console, *, repeats: bool) -> None:
        """Creates the races for a destination. `repeats` is whether it has their tags with each figure."""
        self._references = references
        self._repeats = repeats
        self.console = console
        self.count = 0
        """Number of races that were read."""

    def stored(self) -> Iterator[ReferencedRace]:
        """Yields the races as they are stored. Those that cannot be exported are warnings, unless they are
        named.

        Raises StoreError, also if there is none.
        """
        from pacenote.evidence.recover import recover
        from pacenote.export.document import check_identity
        from pacenote.store.race_groups import each_race
        from pacenote.store.race_store import RaceStore, check_home

        store = RaceStore()
        check_home(store.home)
        check = check_identity if self._repeats else None
        for race in each_race(store, self._references, self._leave_out, check):
            if race.folder.other_name:
                self.console.warning(race.folder.other_name)
            # The Parquet files of a race that was killed are incomplete until then.
            for problem in recover(race.folder) if race.state == "killed" else ():
                self.console.warning(f"race {race.record.race_id}: {problem}")
            yield race
            self.count += 1
        if not self.count:
            raise StoreError(f"no race of {', '.join(self._references)} can be exported")

    def exported(self) -> Iterator[ExportedRace]:
        """Yields the races as they are exported. Raises StoreError, also if there is none."""
        from pacenote.export.document import exported_race

        for race in self.stored():
            yield exported_race(race.record, race.state, race.folder.path.absolute())

    def _leave_out(self, reason: str) -> None:
        self.console.warning(f"not exported: {reason}")


def _to_store(races: _Races, options: argparse.Namespace, console: Console) -> int:
    """Writes races to the metrics store, and returns the exit code. Raises StoreError and UsageError."""
    from pacenote.cli.metrics_store.races import export_to_store

    if options.format or options.output:
        raise UsageError("--to-store writes Rally's documents", hint="omit --format and --output")
    settings = configured_store(options)
    if settings is None:
        raise UsageError(
            "--to-store needs a metrics store",
            hint="configure it in [reporting] of rally.ini or pacenote.toml: datastore.type and so on",
        )
    return export_to_store(races.stored(), settings, console)


def _to_json(races: _Races, options: argparse.Namespace) -> None:
    from pacenote.export.json import json_text

    _write_text(json_text, races, options)


def _to_csv(races: _Races, options: argparse.Namespace) -> None:
    from pacenote.export.csv import csv_text

    _write_text(csv_text, races, options)


def _to_openmetrics(races: _Races, options: argparse.Namespace) -> None:
    from pacenote.export.openmetrics import openmetrics_text

    _write_text(openmetrics_text, races, options)


def _to_parquet(races: _Races, options: argparse.Namespace) -> None:
    if options.output is None:
        raise UsageError("Parquet is not text for a terminal", hint="add --output=FILE")
    from pacenote.cli.output.export_file import replaced_file
    from pacenote.export.parquet import ParquetFormat

    with replaced_file(options.output) as path:
        file = ParquetFormat(path, options.output)
        for race in races.exported():
            file.race(race)
        file.end()


_DESTINATIONS: Mapping[str, Callable[[_Races, argparse.Namespace], None]] = {
    "json": _to_json,
    "csv": _to_csv,
    "parquet": _to_parquet,
    "openmetrics": _to_openmetrics,
}
"""What writes the races, by value of `--format`."""


def _write_text(
    write: Callable[[Iterable[ExportedRace]], Iterator[str]], races: _Races, options: argparse.Namespace
) -> None:
    """Writes text to `--output`, or to standard output. Raises StoreError."""
    exported = races.exported()
    # One race is read before anything is written, because there may be none.
    texts = write(itertools.chain([next(exported)], exported))
    if options.output is None:
        for text in texts:
            races.console.result(text)
        return
    from pacenote.cli.output.export_file import replaced_file

    with replaced_file(options.output) as path, path.open("w", encoding="utf-8", newline="") as file:
        # A pipe or a terminal, such as /dev/stdout, may be the log of an agent.
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        file.writelines(texts if is_file else map(log_text, texts))
