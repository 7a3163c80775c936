"""Completes the files that a killed race left incomplete in its folder."""

from __future__ import annotations

from pacenote import _core
from pacenote.errors import StoreError
from pacenote.store.race_folder import RaceFolder


def recover(folder: RaceFolder) -> bool:
    """Completes the Parquet files of samples and per-second statistics, and returns whether they were
    incomplete.

    The files of a race that is still running are not changed. Raises StoreError if the folder is not
    writable.
    """
    try:
        return _core.recover_files(str(folder.path)) is not None
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
