"""A file that the user names, which is replaced only if all of its new content was written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from pacenote.cli.output.named_file import create_parents
from pacenote.errors import StoreError
from pacenote.system.paths import exists, is_dir, is_file


@contextlib.contextmanager
def replaced_file(file: Path) -> Generator[Path]:
    """Yields the path to write to in the block: a new file beside `file`, which replaces it at the end. If
    the block fails, `file` stays as it was. A pipe or a device is written to directly.

    Raises StoreError, also for an OSError in the block.
    """
    try:
        # Once they exist, no other user can change where they lead.
        create_parents(file)
        # A link stays, and what it leads to is replaced.
        target = Path(os.path.realpath(file))
        if exists(target) and not is_file(target) and not is_dir(target):
            yield target
            return
        create_parents(target)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        with _removed(temporary):
            # One that was left behind is not written to, because it may be a link.
            temporary.unlink(missing_ok=True)
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            yield temporary
            temporary.replace(target)
    except OSError as error:
        raise StoreError(f"cannot write the export to {file}: {error.strerror or error}") from error


@contextlib.contextmanager
def _removed(path: Path) -> Generator[None]:
    """Removes a file that is still there after the block."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
