"""Whether files may be written to a stored race, experiment or search: not where another user could exchange
its folder for a link between a check and the use of a path.
"""

from __future__ import annotations

from pathlib import Path

from pacenote.errors import StoreError
from pacenote.system.ownership import exchangeable_folder
from pacenote.system.paths import is_link


def not_own(folder: Path) -> str:
    """Returns why nothing is written to a folder: another user could exchange it, or it is a link. Empty if
    it is a folder of this user's; then it remains one.
    """
    # No other user can make it a link after the first look.
    if problem := exchangeable_folder(folder):
        return f"other users could exchange it, because {problem}"
    return "it is a symbolic link" if is_link(folder) else ""


def check_page_folder(folder: Path) -> None:
    """Raises StoreError if no page is written to a folder, because it is `not_own`."""
    if problem := not_own(folder):
        raise StoreError(
            f"no page is written to {folder}: {problem}", hint="name a file for the page: --html=FILE"
        )
