"""What the server shows besides its own pages: reports, which are stored or made by the caller."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from pacenote.errors import PacenoteError, StoreError
from pacenote.model.race_state import race_state
from pacenote.model.user_tags import tag_texts
from pacenote.store.experiment_store import NOISE, ExperimentStore
from pacenote.store.race_folder import RaceFolder
from pacenote.store.track_races import EXPERIMENT_TAG
from pacenote.system.regular_files import is_regular_file, read_stored_file

_KEPT = 8
"""Reports that are kept in memory."""

_KNOWN_RACES = 1_000
"""Races whose experiments are kept in memory."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page to make."""

    kind: Literal["race", "comparison", "trend"]
    """The report of a race that does not run, the comparison of races, or the trend of races like one."""

    contender: tuple[str, ...]
    """The id of the race, or those of the races that are compared with others."""

    baseline: tuple[str, ...] = ()
    """The ids of the races with which they are compared."""


class PageDefect(Exception):
    """A page cannot be made because of a defect; the text is the type of the exception with its message."""


class PageMaker(Protocol):
    """Makes pages that are documents of their own."""

    async def make(self, request: PageRequest) -> bytes:
        """Returns a page as HTML. Raises PacenoteError, and PageDefect. Can be cancelled."""

    async def close(self) -> None:
        """Ends what makes pages."""


class Reports:
    """The reports of races and of comparisons. Each is made once, however many requests wait for it."""

    def __init__(self, maker: PageMaker) -> None:
        self._maker = maker
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._turns: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def race(self, folder: RaceFolder) -> bytes:
        """Returns the stored page of a race, or a new one if that is missing or older than the record.

        Nothing is stored. Raises PacenoteError, also while the race runs.
        """
        stored = await asyncio.to_thread(_stored_page, folder)
        return stored if stored is not None else await self._made_race(folder)

    async def prepare_race(self, folder: RaceFolder) -> None:
        """Makes the page of a race unless it is stored or kept, so that `race` only has to return it. Raises
        PacenoteError.
        """
        if not await asyncio.to_thread(_has_stored_page, folder):
            await self._made_race(folder)

    async def _made_race(self, folder: RaceFolder) -> bytes:
        if await asyncio.to_thread(_is_running, folder):
            raise PacenoteError(
                "the race is still running: it has a report when it has ended",
                hint="until then, the page of the race shows how far it is",
            )
        return await self._made(_version(folder), PageRequest("race", (folder.path.name,)))

    async def comparison(self, baseline: Sequence[RaceFolder], contender: Sequence[RaceFolder]) -> bytes:
        """Returns the comparison of races. Raises PacenoteError."""
        key = await asyncio.to_thread(_comparison_key, baseline, contender)
        old, new = (tuple(folder.path.name for folder in side) for side in (baseline, contender))
        return await self._made(key, PageRequest("comparison", new, old))

    async def prepare_trend(self, folder: RaceFolder) -> None:
        """Makes the trend of the races like this one, which `trend` returns. Raises PacenoteError."""
        # Any race that was stored meanwhile may belong to it.
        self._kept.pop(_trend_key(folder), None)
        await self.trend(folder)

    async def trend(self, folder: RaceFolder) -> bytes:
        """Returns the trend of the races like this one, as it was prepared. Raises PacenoteError."""
        return await self._made(_trend_key(folder), PageRequest("trend", (folder.path.name,)))

    async def _made(self, key: Hashable, request: PageRequest) -> bytes:
        # The dictionary forgets a lock that no request holds or waits for.
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            page = self._kept.get(key)
            if page is None:
                page = self._kept[key] = await self._maker.make(request)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return page


def _stored_page(folder: RaceFolder) -> bytes | None:
    try:
        return read_stored_file(folder.page) if _has_stored_page(folder) else None
    except OSError:
        return None


def _has_stored_page(folder: RaceFolder) -> bool:
    """Returns whether the page of a race is stored, and not older than its record."""
    try:
        page, record = folder.page.lstat(), folder.race_json.lstat()
    except OSError:
        return False
    return is_regular_file(page) and page.st_mtime_ns >= record.st_mtime_ns


def _is_running(folder: RaceFolder) -> bool:
    """Returns whether a process runs a race. Raises StoreError."""
    return folder.is_in_use() and race_state(folder.read()) == "unfinished"


def _trend_key(folder: RaceFolder) -> tuple[str, str]:
    return "trend", folder.path.name


def _version(folder: RaceFolder) -> tuple[str, int, int]:
    """Returns what changes when the record of a race does, or its journal. Raises StoreError."""
    try:
        return folder.path.name, folder.race_json.lstat().st_mtime_ns, _modified(folder.journal)
    except OSError as error:
        raise StoreError(f"race '{folder.path.name}' cannot be read: {error.strerror}") from error


def _comparison_key(baseline: Sequence[RaceFolder], contender: Sequence[RaceFolder]) -> Hashable:
    """Returns what changes when the comparison of races may: their records, the journals of their
    experiments, of which it says whether they have ended, and the stored spread of races. Raises StoreError.
    """
    sides = tuple(tuple(map(_version, side)) for side in (baseline, contender))
    return sides, tuple(_of_experiments((*baseline, *contender)))


def _of_experiments(folders: Sequence[RaceFolder]) -> Iterator[tuple[Path, int]]:
    """Yields the files of the experiments of races, and that of the spread of races, each with when it was
    written.
    """
    known = [(folder.path, _experiment(folder.path, _modified(folder.race_json))) for folder in folders]
    experiments = dict.fromkeys((path.parent.parent, name) for path, name in known)
    for home in dict.fromkeys(home for home, _ in experiments):
        yield home / NOISE, _modified(home / NOISE)
    for home, name in experiments:
        try:
            journal = ExperimentStore(home).exact_folder(name).journal_file
        except StoreError:
            continue  # The race is of no experiment, or of one of another machine.
        yield journal, _modified(journal)


@lru_cache(maxsize=_KNOWN_RACES)
def _experiment(race: Path, _written: int) -> str:
    """Returns the id of the experiment of a race whose record was written then; empty if it is of none or
    cannot be read.
    """
    try:
        return tag_texts(RaceFolder(race).read().user_tags).get(EXPERIMENT_TAG, "")
    except StoreError:
        return ""


def _modified(path: Path) -> int:
    """Returns when a file was written, in nanoseconds; 0 if there is none."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0
