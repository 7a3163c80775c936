"""What is shown of a race that was stopped: its report if something was measured, otherwise one line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pacenote.errors import Interrupted, StoreError
from pacenote.race.stop_signals import interrupting, postponed
from pacenote.system.paths import exists

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.race_record import RaceRecord
    from pacenote.model.race_request import RaceRequest
    from pacenote.model.saturation import SaturationResult
    from pacenote.store.race_folder import RaceFolder

NOTHING_MEASURED = "interrupted before anything was measured"
"""Message about a race that was stopped without any result."""

NO_PROBE = "interrupted before a probe was completed"
"""Message about a search that was stopped without any result."""


@contextmanager
def printing_report(*, stopped: bool) -> Generator[None, None, None]:
    """Handles the signals while a report is printed. One ends it, unless the race was stopped: its second
    signal drops requests, not the report.
    """
    if stopped:
        with suppress(KeyboardInterrupt), postponed():
            yield
    else:
        with interrupting():
            yield


def stored_record(request: RaceRequest, cause: KeyboardInterrupt) -> RaceRecord:
    """Returns the record of a race that was stopped outside its measured part.

    Raises Interrupted if nothing was measured.
    """
    try:
        record = _folder(request).read()
    except StoreError:
        raise _interrupted(request) from cause
    if not record.tasks:
        raise Interrupted(NOTHING_MEASURED) from cause
    return record


def stored_saturation(request: RaceRequest, cause: KeyboardInterrupt) -> tuple[RaceRecord, SaturationResult]:
    """Returns the record and the result of a search that was stopped while it began or ended.

    Raises Interrupted if no probe was completed.
    """
    try:
        record, result = _folder(request).read(), _folder(request).read_saturation()
    except StoreError:
        raise _interrupted(request) from cause
    if result is None or not result.probes:
        raise Interrupted(NO_PROBE) from cause
    return record, result


def _folder(request: RaceRequest) -> RaceFolder:
    from pacenote.store.race_folder import RaceFolder
    from pacenote.store.race_store import RaceStore

    return RaceFolder(RaceStore(request.home).races / request.race_id)


def _interrupted(request: RaceRequest) -> Interrupted:
    stored = exists(_folder(request).race_json)
    hint = "results so far are kept: see `pacenote list races`" if stored else ""
    return Interrupted("interrupted", hint=hint)
