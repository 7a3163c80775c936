"""Reads and copies files of others, in which holes of any size may be, without the holes."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator

_LARGEST_COPY = 1 << 30
"""Bytes that one call copies."""


def data_ranges(descriptor: int, size: int) -> Generator[tuple[int, int], None, None]:
    """Yields begin and end of each part of the first `size` bytes of an open file that is not a hole:
    another user may have made holes of any size. Raises OSError.
    """
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
            hole = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.EINVAL:  # The file system does not know holes.
                yield end, size
            if error.errno in (errno.EINVAL, errno.ENXIO):
                return
            raise
        end = min(hole, size)
        if start < end:
            yield start, end


def data_bytes(descriptor: int, size: int) -> int:
    """Returns how many of the first `size` bytes of an open file are not in holes, so that a copy of it has
    them: more than its blocks on the disk have if the file system compresses. Raises OSError.
    """
    return sum(end - start for start, end in data_ranges(descriptor, size))


def copy_content(source: int, target: int, size: int | None = None) -> None:
    """Copies the first `size` bytes, by default all, of an open file to an empty one; holes stay holes.
    Raises OSError.
    """
    length = os.fstat(source).st_size if size is None else size
    for start, end in data_ranges(source, length):
        begin = start
        os.lseek(target, begin, os.SEEK_SET)
        while begin < end and (sent := os.sendfile(target, source, begin, min(end - begin, _LARGEST_COPY))):
            begin += sent
    os.ftruncate(target, length)
