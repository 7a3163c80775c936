"""`pacenote import`: stores races that Rally or OpenSearch Benchmark ran, so that they can be judged."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.cli.program import program
from pacenote.cli.reading_limit import file_limit
from pacenote.errors import PacenoteError, StoreError
from pacenote.model.printable import shortened, single_line
from pacenote.model.shell_command import shell_command
from pacenote.model.user_tags import tag_texts
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore, is_race_id
from pacenote.system.paths import exists, is_dir, is_link
from pacenote.units import format_count

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.importers.records import NewRace

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_REASON_LENGTH = 200
"""Number of characters of a reason that are shown; the report has all of it."""

_ID_LENGTH = 60
"""Number of characters of an id of a file that are shown."""

_SHOWN_PROBLEMS = 3
"""Number of rows that were left out and are named, per file."""


class _Target(Struct, frozen=True):
    """Where races are stored, and how."""

    store: RaceStore
    """The store."""

    short: Callable[[str], str]
    """Returns the short form of an id."""

    user_tags: Mapping[str, object]
    """Tags of all races, in addition to their own."""

    stored: list[str]
    """The ids of the stored races, sorted; `short` adds those that are imported."""

    told: dict[str, str] = field(default_factory=dict)
    """Reasons of verdicts that were shown, with the short id of the race."""


class _Imported(Struct, frozen=True):
    """A race that is in the store now."""

    race_id: str
    """Its id."""

    side: str
    """Which race of a comparison it is; empty for any other file."""

    tags: Mapping[str, str]
    """Its user tags as text."""


def add_options(parser: Parser) -> None:
    """Adds the files and the tags."""
    parser.add_argument(
        "files",
        nargs="+",
        type=values.path,
        metavar="FILE",
        help="race.json, test_run.json or test_execution.json, a summary or a comparison (Markdown, CSV or "
        "text), or a folder with races, such as ~/.rally/benchmarks/races",
    )
    parser.add_argument(
        *("--user-tags", "--user-tag"),
        dest="user_tags",
        type=values.tags,
        default={},
        help="tags stored with every race, in addition to its own: k:v,k2:v2 (default: none)",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Stores the races of all files that can be read. Returns 64 if no race of one of the given files is in
    the store afterwards.

    Raises StoreError if races cannot be stored.
    """
    store = RaceStore()
    ids = store.ids()
    target = _Target(store, store.short_id_maker(ids), options.user_tags, ids)
    code = 0
    imported: dict[str, _Imported] = {}
    for given in options.files:
        added, failures = 0, 0
        try:
            paths = _paths(given)
        except PacenoteError as error:
            console.error(error)
            code = error.exit_code
            continue
        for path in paths:
            try:
                with file_limit(console) if options.owns_process else contextlib.nullcontext():
                    races = _import_file(path, target, console)
            except StoreError:
                raise
            except PacenoteError as error:
                failures += 1
                _show_failure(error, console, is_given=path == given)
            else:
                added += 1
                imported |= {race.race_id: race for race in races}
        if not added:
            code = PacenoteError.exit_code
        elif failures:
            console.warning(f"{format_count(failures, 'file')} of {len(paths):,} not imported")
    if imported:
        # A short form that was unique may not be so any more after others were stored.
        console.progress(_next_step([*imported.values()], target.short))
    return code


def _paths(given: Path) -> tuple[Path, ...]:
    """Returns the files to read. Raises PacenoteError if a folder has none."""
    from pacenote.importers.files import race_files

    return race_files(given) if is_dir(given) else (given,)


def _show_failure(error: PacenoteError, console: Console, *, is_given: bool) -> None:
    error = type(error)(single_line(error.message), hint=error.hint)
    if is_given:
        console.error(error)
    else:
        console.warning(error.message)


def _import_file(path: Path, target: _Target, console: Console) -> list[_Imported]:
    """Stores the races of one file, prints a line for each, and returns all of them.

    Raises PacenoteError if the file has none, or if other races are stored under the ids of some.
    """
    from pacenote.importers.files import read_file
    from pacenote.importers.records import ImportedFile, race_records

    read = read_file(path)
    file = ImportedFile(str(path.absolute()), read.sha256, datetime.now(UTC).replace(microsecond=0))
    races = race_records(read.races, file, target.user_tags, is_race_id, target.stored)
    for problem in read.problems[:_SHOWN_PROBLEMS]:
        console.warning(single_line(f"{path}: left out: {problem}"))
    if (more := len(read.problems) - _SHOWN_PROBLEMS) > 0:
        console.warning(f"{path}: {format_count(more, 'more figure')} left out")
    conflicts = []
    for race in races:
        short_id = target.short(race.record.race_id)
        if _is_stored(race, target.store):
            console.result(f"{_stored_line(race, short_id, target.told)}\n")
        elif conflict := _conflict(race, target.store, short_id):
            conflicts.append(conflict)
        else:
            console.result(f"already imported: {short_id}{_side(race)}\n")
    if conflicts:
        others = f", and {format_count(len(conflicts) - 1, 'more race')}" if conflicts[1:] else ""
        raise PacenoteError(
            f"{path}: not imported: {conflicts[0]}{others}",
            hint=f"`{program()} delete race --id=ID` deletes a race",
        )
    return [_Imported(race.record.race_id, race.side, tag_texts(race.record.user_tags)) for race in races]


def _is_stored(race: NewRace, store: RaceStore) -> bool:
    """Stores a race, unless there is one with its id, and returns whether it did. Raises StoreError."""
    # The home of races that are imported already need not be writable.
    if _is_complete(RaceFolder(store.races / race.record.race_id)):
        return False
    # Another process that imports the same files has stored the whole race when this one looks for it.
    with store.importing():
        is_new = not _is_taken(store.races / race.record.race_id)
        if is_new:
            store.create(race.record).finish(race.record)
        return is_new


def _is_complete(folder: RaceFolder) -> bool:
    """Returns whether there is a race that can be read and that no process is writing."""
    try:
        folder.read()
    except StoreError:
        return False
    return not folder.is_in_use()


def _is_taken(folder: Path) -> bool:
    """Returns whether a race cannot be stored in a folder, because there is one, or something else."""
    return exists(folder) or is_link(folder)


def _stored_line(race: NewRace, short_id: str, told: dict[str, str]) -> str:
    """Returns what was imported; a reason that was told of another race refers to it."""
    record = race.record
    name = " / ".join(part for part in (record.track.name, record.challenge) if part)
    other_id = (
        f"the id '{shortened(race.replaced_id, _ID_LENGTH)}' cannot be kept" if race.replaced_id else ""
    )
    described = ", ".join(part for part in (race.side, name, other_id) if part)
    reason = shortened(next(iter(record.verdict.reasons), ""), _REASON_LENGTH)
    first = told.setdefault(reason, short_id)
    described = f" ({described})" if described else ""
    why = f": {reason}" if first == short_id else f", for the same reason as {first}"
    return single_line(f"imported {short_id}{described}: {record.verdict.state}{why}")


def _conflict(race: NewRace, store: RaceStore, short_id: str) -> str:
    """Returns how the race that is stored under the id of an imported one differs, or why it cannot be read;
    empty text if it is the same.
    """
    try:
        new, old = race.record.imported, RaceFolder(store.races / race.record.race_id).read().imported
    except StoreError as error:
        return (
            f"race {short_id}{_side(race)} is in the store, and cannot be read: {single_line(error.message)}"
        )
    if old is None or new is None:
        return f"race {short_id}{_side(race)} is in the store, and was run with Pacenote"
    if old.sha256 == new.sha256:
        return ""
    return f"race {short_id}{_side(race)} was imported from another file, {single_line(old.file)}"


def _side(race: NewRace) -> str:
    return f" ({race.side})" if race.side else ""


def _next_step(races: Sequence[_Imported], short: Callable[[str], str]) -> str:
    """Returns what the user may enter next, with ids in their short forms."""
    sides = {race.side: short(race.race_id) for race in races if race.side}
    if len(races) == 1:
        return f"show its report: {program()} {shell_command('report', short(races[0].race_id))}"
    if len(sides) < 2 and (tag := _dividing_tag(races)) is not None:
        sides = dict(zip(("baseline", "contender"), tag, strict=True))
    elif len(sides) < 2:
        sides = {"baseline": short(races[0].race_id), "contender": short(races[-1].race_id)}
    both = shell_command("compare", *(f"--{side}={name}" for side, name in sides.items()))
    several = ", or more ids on each side, separated by commas" if len(races) > 2 else ""
    return f"compare them: {program()} {both}{several}"


def _dividing_tag(races: Sequence[_Imported]) -> tuple[str, str] | None:
    """Returns the first two groups into which a tag divides races, or None if none does."""
    for key in dict.fromkeys(key for race in races for key in race.tags):
        values = list(dict.fromkeys(race.tags[key] for race in races if key in race.tags))
        if 1 < len(values) < len(races):
            old, new = (f"tag:{key}={value}".replace(",", "\\,") for value in values[:2])
            return old, new
    return None
