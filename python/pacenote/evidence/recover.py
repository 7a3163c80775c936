"""Completes the files that a killed race left incomplete in its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pacenote.model.race_record import RaceRecord
from pacenote.store.own_folder import not_own
from pacenote.store.race_folder import RaceFolder
from pacenote.system.regular_files import is_regular_file

_MAGIC = b"PAR1"
"""The first and the last bytes of a Parquet file."""


def recover(folder: RaceFolder) -> tuple[str, ...]:
    """Completes the Parquet files of samples and per-second statistics, if that is needed and possible.

    Returns a sentence for everything that was lost, now or earlier, and for every file that cannot be
    completed, for example because the folder is not writable. The files of a race that is still running are
    not changed, nor are those in a folder that another user could exchange.
    """
    if not not_own(folder.path):
        folder.release_abandoned_room()
    return (*_complete(folder), *_unreadable_samples(folder), *folder.losses())


def missing_files(folder: RaceFolder, record: RaceRecord) -> Iterator[str]:
    """Yields a sentence for each file that a killed race must have and that is missing. Call it before
    `recover`.
    """
    if record.complete or record.aborted or record.interrupted or folder.is_in_use():
        return
    if not os.path.lexists(folder.journal):
        yield f"{folder.journal} is missing, so the results of finished tasks are lost"
    series = folder.path / "series.jsonl"
    was_driven = bool(record.tasks) or os.path.lexists(folder.samples)
    if was_driven and not (os.path.lexists(series) or os.path.lexists(folder.series)):
        yield f"{series} is missing, so the per-second statistics are lost"


def _complete(folder: RaceFolder) -> tuple[str, ...]:
    incomplete = {path.parent for path in folder.unfinished_files()}
    if not incomplete:
        return ()
    if reason := not_own(folder.path):
        return () if folder.is_in_use() else (_left_as_it_is(folder.path, reason),)
    # Imported only if a file is incomplete, which is rare.
    from pacenote import _core

    problems = []
    for path in sorted(incomplete):
        if reason := not_own(path):
            problems.append(_left_as_it_is(path, reason))
            continue
        try:
            _core.recover_files(str(path))
        except _core.CoreError as error:
            problems.append(f"samples, statistics or telemetry could not be completed: {error}")
    return tuple(problems)


def _left_as_it_is(folder: Path, reason: str) -> str:
    return (
        f"samples, statistics or telemetry in {folder} are not completed: {reason}; copy the race to a home "
        "of yours to complete them"
    )


def _unreadable_samples(folder: RaceFolder) -> tuple[str, ...]:
    """Returns a sentence for each samples file that lacks its end, and the index to complete it."""
    if folder.is_in_use():
        return ()
    return tuple(
        f"{path / 'samples.parquet'} is incomplete and cannot be completed, because samples.directory, the "
        "index of its rows, is missing: restore it, or its samples are lost"
        for path in folder.driver_folders()
        if _lacks_end(path / "samples.parquet") and not os.path.lexists(path / "samples.directory")
    )


def _lacks_end(samples: Path) -> bool:
    """Returns whether a Parquet file contains more than its first bytes but does not end as it should."""
    try:
        descriptor = os.open(samples, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        if not is_regular_file(status) or status.st_size <= len(_MAGIC):
            return False
        return os.pread(descriptor, len(_MAGIC), status.st_size - len(_MAGIC)) != _MAGIC
    finally:
        os.close(descriptor)
