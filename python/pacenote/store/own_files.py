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
    """Returns the member `name` of the object in a file; None if there is no file, if it cannot be read, or
    if others may have written it.
    """
    try:
        return _member(path, name)
    except StoreError:
        return None


def own_problem(path: Path, name: str) -> str:
    """Returns why a file is not used, and what to do; empty if it is used, or does not exist."""
    try:
        _member(path, name)
    except StoreError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    return ""


def _member(path: Path, name: str) -> Any:
    """Returns the member `name` of the object in a file; None if there is no file. Raises StoreError."""
    try:
        data, access = read_with_access(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise store_error("read", path, error) from error
    if reason := writable_by_others(access):
        raise StoreError(f"{path} is not used: {reason}")
    try:
        return parse_json(data)[name]
    except (ValueError, LookupError, TypeError):
        raise StoreError(f"{path} is damaged", hint="remove it") from None


def update_own(path: Path, name: str, change: Callable[[], object]) -> None:
    """Replaces a file by an object whose member `name` is what `change` returns. `change` may read the file:
    other processes change it before or afterwards. Raises StoreError, also for a file that is not used, which
    would lose what it contains.
    """
    home = path.parent
    try:
        home.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise store_error("create", home, error) from error
    with file_awaited(home / f".{path.name}.lock"):
        _member(path, name)
        write_atomically(path, json.dumps({name: change()}, indent=1).encode())
