"""The page cache of the data of an engine: dropped, filled and measured.

Pages of a file can be dropped without privileges (`posix_fadvise`), if they are written and no process has
them mapped. What remains is measured with `mincore`, so that a race can state how cold or warm it began.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from pacenote.system.folder_trees import walk_files
from pacenote.system.sparse_files import data_ranges

DROP_CACHES = Path("/proc/sys/vm/drop_caches")

_PAGE = mmap.PAGESIZE
_WINDOW_PAGES = 1 << 18
"""Pages that are mapped at a time: 1 GiB."""
_READ_BYTES = 1 << 20


class CachedBytes(Struct, frozen=True):
    """How much of some files is in the page cache. Holes of sparse files do not count."""

    bytes: int = 0
    """Sum of the sizes of the files, in whole pages."""
    cached: int = 0
    """Bytes in the page cache, in whole pages."""

    @property
    def share(self) -> float:
        """The share that is in the page cache, from 0 to 1."""
        return self.cached / self.bytes if self.bytes else 0.0


def drop_page_cache(folders: Iterable[Path], switch: Path = DROP_CACHES) -> str:
    """Drops the pages of all files in the folders, and returns how: `drop_caches` or `fadvise`.

    With write access to `switch`, which root has unless a container forbids it, the kernel drops all page
    cache of the machine, with directory entries and inodes; otherwise only the files are dropped. Raises
    nothing: what could not be dropped shows in `measure_page_cache`.
    """
    for descriptor in _data_files(folders):
        try:
            # Only written pages can be dropped.
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            continue
    try:
        with switch.open("w") as file:
            file.write("3\n")
    except OSError:
        return "fadvise"
    return "drop_caches"


def fill_page_cache(folders: Iterable[Path]) -> None:
    """Reads all files in the folders into the page cache."""
    for descriptor in _data_files(folders):
        with suppress(OSError):
            for start, end in data_ranges(descriptor, os.fstat(descriptor).st_size):
                while start < end and (part := os.pread(descriptor, min(_READ_BYTES, end - start), start)):
                    start += len(part)


def measure_page_cache(folders: Iterable[Path]) -> CachedBytes:
    """Returns how much of the files in the folders is in the page cache; of a folder that cannot be walked to
    its end, the files before that.
    """
    total, cached = 0, 0
    for descriptor in _data_files(folders):
        for start, end in data_ranges(descriptor, os.fstat(descriptor).st_size):
            first, last = start // _PAGE, -(-end // _PAGE)
            total += (last - first) * _PAGE
            for page in range(first, last, _WINDOW_PAGES):
                count = min(_WINDOW_PAGES, last - page)
                cached += _resident(descriptor, page * _PAGE, count) * _PAGE
    return CachedBytes(total, cached)


def _resident(descriptor: int, offset: int, pages: int) -> int:
    """Returns how many pages of a file are in the page cache; 0 if the kernel does not tell."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
        *(ctypes.c_int, ctypes.c_int, ctypes.c_long),
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    address = libc.mmap(None, pages * _PAGE, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, offset)
    if address in (None, ctypes.c_void_p(-1).value):
        return 0
    try:
        answer = ctypes.create_string_buffer(pages)
        if libc.mincore(address, pages * _PAGE, answer) != 0:
            return 0
        return answer.raw.count(1)
    finally:
        libc.munmap(address, pages * _PAGE)


def _data_files(folders: Iterable[Path]) -> Generator[int, None, None]:
    """Yields each regular file below the folders as an open descriptor; links are not followed.

    Files that end while this runs are left out: a running engine deletes files. A file with several names is
    yielded once.
    """
    known = set[tuple[int, int]]()
    for folder in folders:
        for _, names, parent in _folders(folder):
            for name in names:
                with _opened(name, parent) as descriptor:
                    if descriptor is not None and _is_new(os.fstat(descriptor), known):
                        yield descriptor


def _is_new(status: os.stat_result, known: set[tuple[int, int]]) -> bool:
    """Returns whether a file has only one name, or is not among the known ones, to which it is added."""
    file = (status.st_dev, status.st_ino)
    if status.st_nlink == 1:
        return True
    if file in known:
        return False
    known.add(file)
    return True


def _folders(folder: Path) -> Generator[tuple[str, list[str], int], None, None]:
    with suppress(OSError):
        yield from walk_files(folder)


@contextmanager
def _opened(name: str, parent: int) -> Generator[int | None, None, None]:
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=parent)
    except OSError:
        yield None
        return
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        yield descriptor if regular else None
    finally:
        os.close(descriptor)
