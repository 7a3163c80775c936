"""Completes the files that a killed race left incomplete in its folder."""

from __future__ import annotations

from pacenote.store.race_folder import RaceFolder


def recover(folder: RaceFolder) -> tuple[str, ...]:
    """Completes the Parquet files of samples and per-second statistics, if that is needed and possible.

    Returns a sentence for everything that was lost, now or earlier, and for every file that cannot be
    completed, for example because the folder is not writable. The files of a race that is still running are
    not changed.
    """
    folder.release_abandoned_room()
    return (*_complete(folder), *folder.losses())


def _complete(folder: RaceFolder) -> tuple[str, ...]:
    incomplete = {path.parent for path in folder.unfinished_files()}
    if not incomplete:
        return ()
    # Imported only if a file is incomplete, which is rare.
    from pacenote import _core

    problems = []
    for path in sorted(incomplete):
        try:
            _core.recover_files(str(path))
        except _core.CoreError as error:
            problems.append(f"samples or per-second statistics could not be completed: {error}")
    return tuple(problems)
