"""Paths that cannot be looked at, as another user or another program may have left them in any folder."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Generator, Mapping
from pathlib import Path


def _locked(path: Path) -> None:
    path.mkdir()
    path.chmod(0)


UNREADABLE: Mapping[str, Callable[[Path], object]] = {
    "link with a name that is too long": lambda path: path.symlink_to("a" * 300),
    "link loop": lambda path: path.symlink_to(path.name),
    "folder without permission": _locked,
    "link into a folder without permission": lambda path: (
        _locked(path.with_name(f".{path.name}")),
        path.symlink_to(f".{path.name}/inner"),
    ),
}
"""What creates such a path; permissions bind the superuser only within `bound_by_permissions`."""

_VERSION_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


@contextlib.contextmanager
def bound_by_permissions() -> Generator[None, None, None]:
    """Has this thread, which may be that of the superuser, keep to the permissions of files and folders."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    before = (ctypes.c_uint32 * 6)()
    if libc.capget(header, before) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    bound = (ctypes.c_uint32 * 6)(before[0] & ~_OVERRIDES, *before[1:])
    _set_capabilities(libc, header, bound)
    try:
        yield
    finally:
        _set_capabilities(libc, header, before)


def _set_capabilities(libc: ctypes.CDLL, header: ctypes.Array[ctypes.c_uint32], values: object) -> None:
    if libc.capset(header, values) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def unlock(folder: Path) -> None:
    """Lets folders without permission below a folder be deleted."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(path, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
