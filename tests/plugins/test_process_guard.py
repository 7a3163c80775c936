"""What plug-ins change of the process is restored."""

from __future__ import annotations

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


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


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
    before, descriptors = state(), open_descriptors()
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
    opened = 1 if change == "replaced descriptor" else 0
    # Servers of earlier tests may still be closing connections.
    assert len(open_descriptors() - descriptors) <= opened


def test_other_threads_are_protected_too(tmp_path: Path) -> None:
    def change() -> None:
        with protected_process(descriptors=False):
            os.chdir(tmp_path)

    before = state()
    thread = threading.Thread(target=change)
    thread.start()
    thread.join()
    assert state() == before
