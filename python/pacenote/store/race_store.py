"""Creates, finds and lists the races below a home folder.

PACENOTE_HOME (default ~/.pacenote)
└── races/
    ├── index.sqlite           see race_index.py
    └── <race-id>/             see race_folder.py
"""

from __future__ import annotations

import bisect
import contextlib
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, MutableSequence, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.model.imported import UNSTATED_TIME
from pacenote.model.printable import printable
from pacenote.model.race_ids import SHORT_ID, can_be_short, is_generated, shortened_to
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import RaceState
from pacenote.model.race_time import is_in_future, parse_timestamp
from pacenote.store.atomic_files import PRIVATE_FOLDER, store_error, sync_folder
from pacenote.store.file_lock import file_awaited
from pacenote.store.home import RACES, default_home
from pacenote.store.race_folder import ExpectedResult, RaceFolder
from pacenote.store.race_index import INDEX_FILES, FoundRaces, RaceFilter, RaceIndex, RaceSummary
from pacenote.system.folder_trees import delete_tree, discard_tree
from pacenote.system.paths import is_dir, is_file, is_link

LATEST = "latest"
"""Refers to the newest race instead of an id; therefore, it is not a valid race id."""

ID_HINT = (
    f"use at most 128 letters, digits, '.', '_' and '-'; '{LATEST}' and the names of the files of the index "
    f"('{INDEX_FILES[0]}') are reserved"
)
"""What a race id may consist of."""

_ALL = 1 << 31

_RESERVED = frozenset((LATEST, *INDEX_FILES))
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class AmbiguousRace(StoreError):
    """The ids of several races begin with what the user gave."""


def check_home(home: Path) -> None:
    """Raises StoreError if the home folder or its `races` exists but is not a readable folder.

    A home that does not exist yet has no races.
    """
    for folder in (home, home / RACES):
        try:
            next(folder.iterdir(), None)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(
                f"cannot read races from {folder}: {error.strerror}",
                hint="PACENOTE_HOME is the folder where Pacenote keeps its files",
            ) from error


def is_race_id(text: str) -> bool:
    """Returns whether the text is a valid race id: a folder name that is valid on every system, not `latest`
    and not the name of another file in the folder of races.
    """
    return text.lower() not in _RESERVED and _ID.fullmatch(text) is not None


class RaceStore:
    """All races below a home folder (default: `default_home()`). Folders are created when they are needed."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = home or default_home()
        self.races = self.home / RACES

    def create(
        self,
        record: RaceRecord,
        results: Sequence[ExpectedResult] = (),
        secrets: frozenset[str] = frozenset(),
    ) -> RaceFolder:
        """Creates the folder of a new race and stores its initial record. `secrets` are never stored.

        Reserves room for these results. Raises StoreError if the id exists or is
        invalid, or if the folder cannot be written.
        """
        if not is_race_id(record.race_id):
            raise StoreError(
                f"'{record.race_id}' is not a valid race id",
                hint=ID_HINT,
            )
        folder = RaceFolder(self.races / record.race_id, secrets)
        try:
            self.races.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            folder.path.mkdir(mode=PRIVATE_FOLDER)
            with _removed_on_failure(folder.path):
                folder.artifacts.mkdir(mode=PRIVATE_FOLDER)
                for parent in (self.races, self.home):
                    sync_folder(parent)
                folder.reserve(results)
                folder.write(record)
        except FileExistsError:
            raise StoreError(
                f"race '{record.race_id}' already exists in {self.races}", hint="choose another --race-id"
            ) from None
        except OSError as error:
            raise store_error("create", folder.path, error) from error
        return folder

    def folder(self, reference: str) -> RaceFolder:
        """Returns the folder of a race, by its id, a unique prefix of it, or `latest`. Raises StoreError."""
        check_home(self.home)
        if is_race_id(reference) and is_dir(self.races / reference):
            self._check_unambiguous(reference)
            return RaceFolder(self.races / reference)
        return RaceFolder(self.races / self._resolve(reference))

    def _check_unambiguous(self, race_id: str) -> None:
        """Raises AmbiguousRace for an id that is also what is shown of the id of another race, which someone
        may have imported, or copied, to take its place.
        """
        ids = self._index().ids() if can_be_short(race_id) else ()
        if other := next(shortened_to(race_id, ids), None):
            raise AmbiguousRace(
                f"'{race_id}' is the id of a race, and the beginning of that of race {other}",
                hint=f"give more characters of the other one, or rename {self.races / race_id}",
            )

    def exact_folder(self, race_id: str) -> RaceFolder:
        """Returns the folder of the race with exactly this id, which may come from anywhere. Raises
        StoreError.
        """
        if race_id not in ("", ".", "..") and race_id.isprintable() and "/" not in race_id:
            folder = RaceFolder(self.races / race_id)
            with contextlib.suppress(OSError):  # The name is too long.
                if is_file(folder.race_json):
                    return folder
        raise StoreError(f"no race '{printable(race_id)}' in {self.races}")

    def load(self, reference: str) -> RaceRecord:
        """Returns the record of a race, by its id, a unique prefix of it, or `latest`. Raises StoreError."""
        return self.folder(reference).read()

    def delete(self, *folders: RaceFolder) -> None:
        """Deletes races with all their files. Raises StoreError, and deletes none if one is running."""
        self.check_ended(folders)
        for folder in folders:
            _delete(folder)

    @staticmethod
    def check_ended(folders: Iterable[RaceFolder]) -> None:
        """Raises StoreError if one of the races is running, so that it cannot be deleted."""
        for folder in folders:
            if folder.is_in_use():
                raise StoreError(f"race '{folder.path.name}' is running", hint="delete it when it has ended")

    def short_ids(self, race_ids: Iterable[str]) -> dict[str, str]:
        """Returns the shortest text, of at least eight characters, that `folder` accepts for each race. Ids
        that the user has chosen are not shortened.
        """
        short = self.short_id_maker()
        return {race_id: short(race_id) for race_id in race_ids}

    @contextlib.contextmanager
    def importing(self) -> Generator[None, None, None]:
        """Lets one process at a time store a race that it imports; others wait. Raises StoreError."""
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise store_error("create", self.home, error) from error
        with file_awaited(self.home / ".import.lock"):
            yield

    def short_id_maker(self, known: MutableSequence[str] | None = None) -> Callable[[str], str]:
        """Returns a function that shortens an id as `short_ids` does, among `known`, which `ids` returned, or
        the races that are stored now, and those that it has shortened, which it adds to `known`.
        """
        return partial(_shortest, known=self.ids() if known is None else known)

    def ids(self) -> list[str]:
        """Returns the ids of all races, sorted."""
        return self._index().ids()

    def list(self, criteria: RaceFilter) -> list[RaceSummary]:
        """Returns the races that match, newest first, including those that are running or were killed."""
        return list(self.find(criteria).races)

    def find(self, criteria: RaceFilter) -> FoundRaces:
        """Returns what `list` does, and how many races match."""
        found_races = self._index().find(criteria)
        return replace(found_races, races=tuple(map(self._with_process, found_races.races)))

    def _with_process(self, race: RaceSummary) -> RaceSummary:
        """Returns the summary of a race, which states of an unfinished one whether it is running."""
        if race.state != "unfinished":
            return race
        return replace(race, state=self._unfinished_state(race.race_id))

    def _unfinished_state(self, race_id: str) -> RaceState:
        return "running" if RaceFolder(self.races / race_id).is_in_use() else "killed"

    def _index(self) -> RaceIndex:
        return RaceIndex(self.races, self._unfinished_state)

    def _resolve(self, reference: str) -> str:
        if reference == LATEST:
            return self._newest()
        matches = self._index().ids_with_prefix(reference)
        if len(matches) == 1:
            return matches[0]
        hint = "`pacenote list races` shows the ids"
        if not matches:
            raise StoreError(f"no race '{reference}' in {self.races}", hint=hint)
        shown = ", ".join(matches[:3]) + (", …" if len(matches) > 3 else "")
        raise AmbiguousRace(
            f"'{reference}' matches {len(matches)} races: {shown}", hint="give more characters of the id"
        )

    def _newest(self) -> str:
        """Returns the id of the race that began last. An imported one whose time is unknown is not it, nor is
        one whose time lies in the future, unless there is no other one. Raises StoreError.
        """
        newest = self.list(RaceFilter(limit=1))
        if not newest:
            raise self._no_races()
        if not self._is_dated(newest[0]):
            newest = self.list(RaceFilter(limit=_ALL))
        return next((race.race_id for race in newest if self._is_dated(race)), newest[0].race_id)

    def _is_dated(self, race: RaceSummary) -> bool:
        """Returns whether a race can have begun when it says; of one that cannot be read, the file is new."""
        if race.timestamp and is_in_future(parse_timestamp(race.timestamp)):
            return False
        try:
            imported = RaceFolder(self.races / race.race_id).read().imported
        except StoreError:
            return True
        return imported is None or UNSTATED_TIME not in imported.unstated

    def _no_races(self) -> StoreError:
        """Returns the error for a folder without races, or without one that can be read."""
        try:
            left = sorted(
                path.name for path in self.races.iterdir() if any(map(os.path.lexists, _left(path)))
            )
        except OSError:
            left = []
        if not left:
            return StoreError(f"{self.races} does not contain any races", hint="run one with `pacenote race`")
        names = ", ".join(left[:3]) + (", …" if len(left) > 3 else "")
        return StoreError(
            f"no race in {self.races} can be read: race.json is missing or is not a file in {names}",
            hint="tasks.jsonl and .race.json.reserved, if they are there, contain what was measured",
        )


@contextlib.contextmanager
def _removed_on_failure(folder: Path) -> Generator[None, None, None]:
    """Removes a new folder if the block fails or is interrupted. Without a record it would reserve the id."""
    try:
        yield
    except BaseException:
        discard_tree(folder)
        raise


def _delete(folder: RaceFolder) -> None:
    """Deletes a race, or the link to it. Raises StoreError."""
    try:
        if is_link(folder.path):
            folder.path.unlink()
            return
        # If deleting is interrupted, what is left is not listed as a race.
        with contextlib.suppress(IsADirectoryError):
            folder.race_json.unlink(missing_ok=True)
        delete_tree(folder.path)
    except OSError as error:
        raise store_error("delete", folder.path, error) from error


def _shortest(race_id: str, known: MutableSequence[str]) -> str:
    """Returns the short form of an id among sorted ids, to which it is added."""
    at = bisect.bisect_left(known, race_id)
    if known[at : at + 1] != [race_id]:
        known.insert(at, race_id)
    if not is_generated(race_id):
        return race_id  # The user has chosen it.
    # No other id has more characters in common with it than its neighbours.
    neighbours = (*known[max(at - 1, 0) : at], *known[at + 1 : at + 2])
    beginnings = (race_id[:length] for length in range(SHORT_ID, len(race_id)))
    unique = (short for short in beginnings if not any(other.startswith(short) for other in neighbours))
    return next(unique, race_id)


def _left(folder: Path) -> Iterator[Path]:
    """Yields the files of a race that show that a folder is one."""
    return (folder / name for name in ("race.json", "tasks.jsonl", ".race.json.reserved"))
