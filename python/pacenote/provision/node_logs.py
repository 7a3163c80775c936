"""Copies the logs of a node out of its folder before the folder is removed.

The node's user wrote them, and Pacenote may be root. Only regular files with the names of logs and recordings
are copied, into a folder that holds nothing else which Pacenote reads as its own, and never over a file that
exists. Files with several names are left out: another of them may be that of a file of another user.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from pacenote.fetch.disk import KEEP_FREE
from pacenote.model.messages import list_with_rest
from pacenote.model.printable import single_line
from pacenote.system.sparse_files import copy_content, data_bytes
from pacenote.units import format_bytes

MAX_LOG_BYTES = 64 << 30
"""Largest sum of the sizes of the files that are kept of a node; a heap dump is as large as the heap."""

MAX_LOG_FILES = 1000
"""Largest number of files that are kept of a node."""

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_MAX_ENTRIES = 100_000
_MAX_NAMED = 3

_NAMES = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_.@%+-]{0,150}"
    r"(\.log(\.\d{1,6})?|\.(jfr|hprof|phd|trc|dmp|txt|csv|collapsed)"
    # Logs of official archives.
    r"|_(server|audit|deprecation|[a-z_]{1,40}log)(-[\d-]{1,20})?\.json)(\.gz)?",
    re.ASCII,
)
"""Names of logs, recordings, dumps of the heap and profiles; not those of programs, settings and pages."""


class _LogFile(Struct, frozen=True):
    """A file that can be copied."""

    name: str
    """Its name."""
    size: int
    """Its size in bytes, with its holes."""


class ContentCopy(Protocol):
    """Copies the content of a log."""

    def __call__(self, name: str, source: int, target: int, size: int, /) -> None:
        """Copies the first `size` bytes of an open log with this name to an empty file. Raises OSError."""


def whole_content(_: str, source: int, target: int, size: int, /) -> None:
    """Copies a log as it is; holes stay holes. Raises OSError."""
    copy_content(source, target, size)


def keep_logs(folder: Path, target: Path, copy: ContentCopy = whole_content) -> str:
    """Copies the logs in the folder of a node's logs to `target`, small ones first, with the content that
    `copy` writes. Returns a line that says what was left out and why; empty if nothing was.

    A log whose name exists there gets a number, such as `gc-2.log` and `gc-2.log.0`. What cannot be copied
    does not stop the cleanup.
    """
    try:
        with _opened_folder(folder) as source:
            with os.scandir(source) as entries:
                names = sorted(entry.name for entry in itertools.islice(entries, _MAX_ENTRIES))
                has_more = next(entries, None) is not None
            if not names:
                return ""
            target.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            reasons = _copy_all(names, source, target, copy)
            if has_more:
                reasons = {"others": f"at most {_MAX_ENTRIES:,} names are read", **reasons}
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"the logs of the node are not in {target}: {error.strerror or error}"
    left_out = [f"{single_line(name)} ({reason})" for name, reason in reasons.items()]
    listed = list_with_rest(left_out, _MAX_NAMED)
    return f"these files of the node are not in {target}: {listed}" if left_out else ""


def replace_log(log: Path) -> str:
    """Replaces the file that the processes of a node got for their output by a copy, when the node has ended:
    one that has left the node's session may still write to what it has open, which then has no name.

    Returns a line that says why that was not possible; empty if it was, or if there is no such file.
    """
    # A copy that a killed process leaves is replaced by the next one, and secrets are removed from it as from
    # any other log.
    copy = f".{log.stem}.copy.log"
    try:
        with _opened_folder(log.parent) as folder:
            with _opened_file(log.name, folder) as opened:
                status = os.fstat(opened)
                if not stat.S_ISREG(status.st_mode):
                    return ""
                if status.st_size > MAX_LOG_BYTES:
                    raise OSError(errno.EFBIG, f"it is larger than {format_bytes(MAX_LOG_BYTES)}")
                # What a killed process has left could be a link.
                with suppress(FileNotFoundError):
                    os.unlink(copy, dir_fd=folder)
                _copy(opened, status.st_size, folder, copy)
            os.rename(copy, log.name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        reason = error.strerror or str(error)
        return (
            f"{log} was not replaced by a copy, so that a process that the engine may have left can still "
            f"write to it: {reason}"
        )
    return ""


def _copy_all(names: Iterable[str], source: int, target: Path, copy: ContentCopy) -> dict[str, str]:
    """Copies files of an open folder; returns the name of each that was left out, and the reason."""
    left_out: dict[str, str] = {}
    files: list[_LogFile] = []
    for name in names:
        try:
            files.append(_checked(name, os.stat(name, dir_fd=source, follow_symlinks=False)))
        except OSError as error:
            left_out[name] = error.strerror or str(error)
    with _opened_folder(target) as folder:
        new_names = _free_names([file.name for file in files], os.listdir(folder))  # noqa: PTH208
        room, count = MAX_LOG_BYTES, 0
        for file in sorted(files, key=lambda file: file.size):
            if count == MAX_LOG_FILES:
                left_out[file.name] = f"at most {MAX_LOG_FILES:,} files are kept of a node"
            elif file.size > room:
                left_out[file.name] = f"at most {format_bytes(MAX_LOG_BYTES)} are kept of a node"
            else:
                try:
                    _copy_kept(file, source, folder, new_names[file.name], copy)
                    room, count = room - file.size, count + 1
                except OSError as error:
                    left_out[file.name] = error.strerror or str(error)
    return left_out


def _checked(name: str, status: os.stat_result) -> _LogFile:
    """Returns a file that can be copied. Raises OSError, with the reason, for any other one."""
    problem = ""
    if not stat.S_ISREG(status.st_mode):
        problem = "it is not a regular file"
    elif status.st_nlink != 1:
        problem = "it has several names (hard links)"
    elif not _NAMES.fullmatch(name):
        problem = "its name is not that of a log"
    if problem:
        raise OSError(errno.EINVAL, problem)
    return _LogFile(name, status.st_size)


def _copy_kept(file: _LogFile, source: int, folder: int, name: str, copy: ContentCopy) -> None:
    """Copies one file. Raises OSError, also if another file has its name now, if it still
    grows, and if there is no room for it.
    """
    with _opened_file(file.name, source) as opened:
        now = _checked(file.name, os.fstat(opened))
        if now.size > file.size:
            raise OSError(errno.EBUSY, "it still grows")
        _copy(opened, now.size, folder, name, partial(copy, file.name))


@contextmanager
def _opened_file(name: str, folder: int) -> Iterator[int]:
    """Yields the descriptor of a file. Raises OSError, also for a link."""
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield opened
    finally:
        os.close(opened)


def _copy(
    opened: int,
    size: int,
    folder: int,
    name: str,
    write: Callable[[int, int, int], None] = copy_content,
) -> None:
    """Copies the beginning of an open file to a new one. Raises OSError, also if there is no room for it."""
    needed = data_bytes(opened, size)
    if needed > shutil.disk_usage(folder).free - KEEP_FREE:
        raise OSError(errno.ENOSPC, f"the disk has no room for {format_bytes(needed)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    out = os.open(name, flags, _PRIVATE_FILE, dir_fd=folder)
    try:
        write(opened, out, size)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(out)


def _free_names(names: Iterable[str], existing: Iterable[str]) -> dict[str, str]:
    """Returns a name for each file that no file in the target has.

    The files of a rotated log get the same number, so that they stay one log.
    """
    taken, numbered = {_stem(name) for name in existing}, dict[str, str]()
    for name in names:
        stem = _stem(name)
        if stem not in numbered:
            candidates = (f"{stem}-{number}" if number > 1 else stem for number in itertools.count(1))
            numbered[stem] = next(candidate for candidate in candidates if candidate not in taken)
            taken.add(numbered[stem])
    return {name: numbered[_stem(name)] + name[len(_stem(name)) :] for name in names}


def _stem(name: str) -> str:
    """Returns what the files of a rotated log have in common: `gc` of `gc.log.0`."""
    return name.partition(".")[0]


@contextmanager
def _opened_folder(folder: Path) -> Iterator[int]:
    """Yields the descriptor of a folder. Raises OSError, also for a link."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
