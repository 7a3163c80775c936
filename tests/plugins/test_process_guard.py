"""What plug-ins change of the process is restored."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.plugins.process_guard import protected_process


def state() -> tuple[object, ...]:
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    files = [os.fstat(number)[:2] for number in range(3)]
    return Path.cwd(), [signal.getsignal(number) for number in signal.valid_signals()], wakeup, files


def descriptors_of_kept_files(kept: set[tuple[int, int]]) -> int:
    """Counts the descriptors that refer to what the guard keeps open.

    Others may be opened and closed meanwhile by threads of earlier tests.
    """
    count = 0
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            count += os.fstat(int(path.name))[1:3] in kept
    return count


def kept_files() -> set[tuple[int, int]]:
    """Returns the inodes and devices of the current folder and of the standard descriptors."""
    return {status[1:3] for status in (Path.cwd().stat(), *map(os.fstat, range(3)))}


def remove_folder(path: Path) -> None:
    path.mkdir()
    os.chdir(path)
    path.rmdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "folder": os.chdir,
    "a folder that is gone": lambda path: remove_folder(path / "gone"),
    "handler": lambda _: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "handlers": lambda _: [signal.signal(number, signal.SIG_DFL) for number in (2, 1, signal.SIGPIPE)],
    "wakeup": lambda _: signal.set_wakeup_fd(-1),
    "closed descriptors": lambda _: os.closerange(0, 3),
    "replaced descriptor": lambda _: os.dup2(os.open(os.devnull, os.O_RDONLY), 0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("fails", [False, True])
def test_changes_are_undone(change: str, fails: bool, tmp_path: Path) -> None:
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    previous = signal.set_wakeup_fd(writer.fileno())
    before, kept = state(), kept_files()
    descriptors = descriptors_of_kept_files(kept)
    assert descriptors >= 3
    try:
        try:
            with protected_process():
                CHANGES[change](tmp_path)
                if fails:
                    raise SystemExit
        except SystemExit:
            assert fails
        assert state() == before
    finally:
        signal.set_wakeup_fd(previous)
        reader.close()
        writer.close()
    # The test itself leaves one open, which is a standard descriptor as well if its input is discarded.
    opened = (0, 1) if change == "replaced descriptor" else (0,)
    assert descriptors_of_kept_files(kept) - descriptors in opened


def test_other_threads_are_protected_too(tmp_path: Path) -> None:
    def change() -> None:
        with protected_process(descriptors=False):
            os.chdir(tmp_path)

    before = state()
    thread = threading.Thread(target=change)
    thread.start()
    thread.join()
    assert state() == before
