"""Whether the home folder of Pacenote is one that no other user can exchange."""

from __future__ import annotations

import os
from pathlib import Path

from pacenote.errors import EngineError, StoreError
from pacenote.system.named_file import PlantedPathError, named_file
from pacenote.system.ownership import is_shared_folder, is_writable_by_others, replaceable_folder
from pacenote.system.paths import exists

_ELSEWHERE = "set PACENOTE_HOME to a folder of yours, below folders that only you or root can change"


def claim_home(home: Path) -> None:
    """Raises StoreError if another user has put the home folder, or what leads to it, in a folder such as
    /tmp. One that is missing there is created at once: another user could be faster later.
    """
    existing = next(folder for folder in (home, *home.parents) if os.path.lexists(folder))
    try:
        with named_file(existing):
            is_to_be_created = existing != home and is_shared_folder(existing)
        if is_to_be_created:
            # The folders that lead to a file in the home are created, but not that file.
            with named_file(home / "file", creates_folders=True):
                pass
    except PlantedPathError as error:
        raise StoreError(f"the home folder {home} is not used: {error.strerror}", hint=_ELSEWHERE) from error
    except OSError:
        # What needs the folder says that it cannot be read or created.
        return


def check_own_home(home: Path, *, must_exist: bool = False) -> None:
    """Raises EngineError if another user could change what is in the home folder, which Pacenote runs and
    removes. One that does not exist is not an error, unless it `must_exist`. Raises OSError.
    """
    if exists(home) and is_writable_by_others(home):
        raise EngineError(
            f"the home folder {home} can be written by other users, who could change what Pacenote runs",
            hint=f"chmod go-w {home}, or set PACENOTE_HOME to a folder that only you can write",
        )
    if problem := replaceable_folder(home, must_exist=must_exist):
        raise EngineError(
            f"the home folder {home} could be replaced by others, with what Pacenote runs: {problem}",
            hint=_ELSEWHERE,
        )
