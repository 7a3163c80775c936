"""Sends what changes of running races: each race is read once a second, however many pages show it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping

from msgspec import Struct

from pacenote.errors import StoreError
from pacenote.serve.live_page import running_parts, settled_parts
from pacenote.serve.live_race import LiveRace, LiveReader
from pacenote.store.race_folder import RaceFolder
from pacenote.system.paths import is_file

INTERVAL_S = 1.0
"""Seconds between two readings of a race."""

_PAGE_S = 10.0
"""Seconds after the end of a race until which its page is waited for."""


class LiveUpdate(Struct, frozen=True):
    """What has changed of the page of a race."""

    parts: Mapping[str, str]
    """The changed parts by id, as HTML."""

    has_ended: bool
    """Whether this is the last update: the race has ended, and its report can be shown."""


class LiveUpdates:
    """The races that pages show."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._pollers: dict[str, _Poller] = {}

    async def follow(self, folder: RaceFolder) -> AsyncGenerator[LiveUpdate, None]:
        """Yields the updates for one page, of which the first has all parts."""
        name = folder.path.name
        poller = self._pollers.get(name)
        if poller is None:
            poller = self._pollers[name] = _Poller(folder, self._interval_s)
        poller.pages += 1
        try:
            sent: dict[str, str] = {}
            version = 0
            while (newer := await poller.newer_than(version)) is not None:
                version = newer
                parts = {name: part for name, part in poller.parts.items() if sent.get(name) != part}
                sent |= parts
                yield LiveUpdate(parts, poller.has_ended)
                if poller.has_ended:
                    return
        finally:
            poller.pages -= 1
            if not poller.pages and self._pollers.get(name) is poller:
                del self._pollers[name]
                poller.stop()

    def stop(self) -> None:
        """Ends all updates."""
        for poller in self._pollers.values():
            poller.stop()


class _Poller:
    """Reads one race, and wakes the pages that show it."""

    def __init__(self, folder: RaceFolder, interval_s: float) -> None:
        self.pages = 0
        self.parts: dict[str, str] = {}
        self.has_ended = False
        self._page = folder.page
        self._reader = LiveReader(folder)
        self._race: LiveRace | None = None
        self._interval_s = interval_s
        self._version = 0
        self._ended_at: float | None = None
        self._is_stopped = False
        self._error: Exception | None = None
        self._changed = asyncio.Condition()
        self._task = asyncio.create_task(self._run())

    async def newer_than(self, version: int) -> int | None:
        """Waits for a version after this one, and returns its number, or None if there will be none.

        Raises what a reading raised.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._version > version or self._is_stopped)
        if self._version > version:
            return self._version
        if self._error is not None:
            raise self._error
        return None

    def stop(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        try:
            while not self.has_ended:
                # A disk may hang.
                await asyncio.to_thread(self._read)
                self._version += 1
                await self._notify()
                await asyncio.sleep(0 if self.has_ended else self._interval_s)
        except Exception as error:  # Each page of the race raises it.
            self._error = error
        finally:
            self._is_stopped = True
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _read(self) -> None:
        try:
            race = self._reader.read(time.time())
        except StoreError:  # The race was deleted.
            self.has_ended = True
            return
        previous, self._race = self._race, race
        if previous is None or race.record is not previous.record or race.to_come != previous.to_come:
            self.parts |= settled_parts(race)
        self.parts |= running_parts(race)
        now = time.monotonic()
        if race.is_running:
            self._ended_at = None
        elif self._ended_at is None:
            self._ended_at = now
        is_late = self._ended_at is not None and now - self._ended_at >= _PAGE_S
        self.has_ended = not race.is_running and (is_late or is_file(self._page))
