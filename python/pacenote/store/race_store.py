"""All races below a home folder: creating, finding and listing them.

PACENOTE_HOME (default ~/.pacenote)
└── races/
    ├── index.sqlite           see race_index.py
    └── <race-id>/             see race_folder.py
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.model.race_record import RaceRecord
from pacenote.store.files import PRIVATE_FOLDER, store_error
from pacenote.store.home import default_home
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_index import RaceFilter, RaceIndex, RaceSummary

LATEST = "latest"
"""Stands for the newest race wherever a race id is asked for, so no race may be called so."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_home(home: Path) -> None:
    """Makes sure that races below a home can be looked for; a home that is not there yet has none.

    Raises StoreError when something that is no readable folder is in its place.
    """
    for folder in (home, home / "races"):
        try:
            next(folder.iterdir(), None)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(
                f"races cannot be looked for in {folder}: {error.strerror}",
                hint="PACENOTE_HOME names the folder that Pacenote keeps its files in",
            ) from error


def is_race_id(text: str) -> bool:
    """Whether a race may be called so: it names a folder, on every system, and is not `latest`."""
    return text != LATEST and _ID.fullmatch(text) is not None


class RaceStore:
    """All races below a home folder (default: `default_home()`). Nothing is created before it is needed."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = home or default_home()
        self.races = self.home / "races"

    def create(self, record: RaceRecord) -> RaceFolder:
        """Makes the folder of a new race and stores the record it starts with.

        Raises StoreError when the id is taken or cannot name a folder, or when nothing can be written.
        """
        if not is_race_id(record.race_id):
            raise StoreError(
                f"'{record.race_id}' cannot be a race id",
                hint="use letters, digits, '.', '_' and '-', at most 128; 'latest' is taken",
            )
        folder = RaceFolder(self.races / record.race_id)
        try:
            self.races.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            folder.path.mkdir(mode=PRIVATE_FOLDER)
            folder.artifacts.mkdir(mode=PRIVATE_FOLDER)
        except FileExistsError:
            raise StoreError(
                f"there is a race '{record.race_id}' already in {self.races}", hint="choose another --race-id"
            ) from None
        except OSError as error:
            raise store_error("create", folder.path, error) from error
        try:
            folder.write(record)
        except StoreError:
            # Nothing was measured yet: leave no empty race behind that blocks its id.
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return folder

    def folder(self, reference: str) -> RaceFolder:
        """The folder of a race, by its id, a unique beginning of it, or `latest`. Raises StoreError."""
        if is_race_id(reference) and (self.races / reference).is_dir():
            return RaceFolder(self.races / reference)
        return RaceFolder(self.races / self._resolve(reference))

    def load(self, reference: str) -> RaceRecord:
        """The record of a race; see `folder` for how it can be called. Raises StoreError."""
        return self.folder(reference).read()

    def list(self, wanted: RaceFilter) -> list[RaceSummary]:
        """Races that match, newest first, also those that run or were killed."""
        return self._index().find(wanted)

    def _index(self) -> RaceIndex:
        return RaceIndex(self.races)

    def _resolve(self, reference: str) -> str:
        if reference == LATEST:
            newest = self.list(RaceFilter(limit=1))
            if not newest:
                raise StoreError(f"there are no races in {self.races}", hint="run one with `pacenote race`")
            return newest[0].race_id
        found = self._index().ids_beginning_with(reference)
        if len(found) == 1:
            return found[0]
        hint = "`pacenote list races` shows what there is"
        if not found:
            raise StoreError(f"there is no race '{reference}' in {self.races}", hint=hint)
        shown = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise StoreError(
            f"'{reference}' is the beginning of {len(found)} races: {shown}", hint="give more of the id"
        )
