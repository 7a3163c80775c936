"""A file that the user names, which is replaced only if all of its new content was written."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.system.named_file import named_file


@contextlib.contextmanager
def replaced_file(file: Path) -> Generator[Path]:
    """Yields the path to write to in the block: a new file beside `file`, which replaces it at the end. If
    the block fails, `file` stays as it was. A pipe or a device is written to directly.

    Raises StoreError, also for an OSError in the block.
    """
    try:
        # A link stays, and what it leads to is replaced.
        with named_file(file, creates_folders=True) as target:
            if target.is_special:
                yield target.opened_path
                return
            if target.status is not None and stat.S_ISDIR(target.status.st_mode):
                # A folder may have no name, as the root folder, and no file is written for it in vain.
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            temporary = f".{target.name}.{os.getpid()}.tmp"
            descriptor = target.create_beside(temporary)
            try:
                # The file has no other path that leads to it whatever others do.
                yield target.path_of(descriptor, target.path.with_name(temporary))
                target.replace_by(temporary)
            finally:
                os.close(descriptor)
                with contextlib.suppress(OSError):
                    target.remove_beside(temporary)
    except OSError as error:
        raise StoreError(f"cannot write the export to {file}: {error.strerror or error}") from error
