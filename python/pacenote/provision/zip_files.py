"""Reads zip archives and jars of others: what a member unpacks to is limited, each defect is one error."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

MAX_MEMBERS = 100_000
"""Number of files and folders in the largest archive that is unpacked; vendors' have a few thousand."""

_DEFECTS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    # An unknown or absent method of compression, encryption, and names or numbers that cannot be decoded.
    *(NotImplementedError, RuntimeError, ValueError),
)


class DamagedZip(Exception):
    """An archive that cannot be read; the text is the reason."""


@contextmanager
def opened_zip(path: Path) -> Generator[zipfile.ZipFile, None, None]:
    """Yields an archive to read. Raises DamagedZip, also for a defect that the block finds, and OSError."""
    try:
        with zipfile.ZipFile(path) as members:
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
