"""JSON files of the home folder that say what this home has done, such as `raced.json`: they are not used if
users other than this one may write to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pacenote.errors import StoreError
from pacenote.model.decoding import parse_json
from pacenote.store.atomic_files import PRIVATE_FOLDER, store_error, write_atomically
from pacenote.store.file_lock import file_awaited
from pacenote.store.trusted_files import writable_by_others
from pacenote.system.regular_files import read_with_access


def read_own(path: Path, name: str) -> Any:
    """Returns the member `name` of the object in a file; None if there is none, if the file cannot be read,
    or if others may have written it.
    """
    try:
        data, access = read_with_access(path)
        return None if writable_by_others(access) else parse_json(data)[name]
    except (OSError, ValueError, LookupError, TypeError, StoreError):
        return None


def update_own(path: Path, name: str, change: Callable[[], object]) -> None:
    """Replaces a file by an object whose member `name` is what `change` returns, which may read the file;
    other processes wait meanwhile. Raises StoreError.
    """
    home = path.parent
    try:
        home.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise store_error("create", home, error) from error
    with file_awaited(home / f".{path.name}.lock"):
        write_atomically(path, json.dumps({name: change()}, indent=1).encode())
