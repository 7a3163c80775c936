"""Reads zip archives and jars of others: what a member unpacks to is limited, each defect is one error."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pacenote.system.regular_files import open_regular_file

MAX_MEMBERS = 100_000
"""Number of files and folders in the largest archive that is unpacked; vendors' have a few thousand."""

_MAX_READ_BYTES = 16 << 20
"""Bytes that are read at once: the list of all members, which becomes ten times larger in memory."""

_DEFECTS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    # An unknown or absent method of compression, encryption, and names or numbers that cannot be decoded.
    *(NotImplementedError, RuntimeError, ValueError),
)


class DamagedZip(Exception):
    """An archive that cannot be read; the text is the reason."""


class _LimitedFile(io.BufferedReader):
    """A file of which no more than some megabytes are read at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Returns up to `size` bytes, or all. Raises BadZipFile for too many."""
        # All that follows its list of files, which may be a comment, is read without a size.
        is_limited = size is not None and 0 <= size <= _MAX_READ_BYTES
        data = super().read(size if is_limited else _MAX_READ_BYTES + 1)
        if len(data) > _MAX_READ_BYTES:
            raise zipfile.BadZipFile(f"the list of its files has more than {_MAX_READ_BYTES:,} bytes")
        return data


@contextmanager
def opened_zip(path: Path) -> Generator[zipfile.ZipFile, None, None]:
    """Yields an archive to read. Raises DamagedZip, also for too many members and for a defect that the block
    finds, and OSError.
    """
    try:
        with (
            open_regular_file(path) as file,
            _LimitedFile(io.FileIO(file.fileno(), closefd=False)) as limited,
            zipfile.ZipFile(limited) as members,
        ):
            if len(members.filelist) > MAX_MEMBERS:
                raise DamagedZip(f"it contains more than {MAX_MEMBERS:,} files")
            yield members
    except OSError as failure:
        if failure.errno is not None:
            raise
        # The decoder of bzip2 reports damaged data like this.
        raise DamagedZip(str(failure)) from None
    except _DEFECTS as failure:
        raise DamagedZip(str(failure)) from None


def read_member(members: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Returns the content of a member. Raises KeyError if there is none, and DamagedZip if it is larger."""
    with members.open(name) as member:
        data = member.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise DamagedZip(f"{name} has more than {max_bytes:,} bytes")
    return data
