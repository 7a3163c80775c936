"""Runs the Java of an engine to its end, before a node is started with it.

An archive may contain any program in the place of `java`. It therefore runs like a node: as the engine's
user, in a folder of that user, and without the environment of Pacenote.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.system.child_process import ChildCommand, ChildProcess, ProcessUser, spawn_child
from pacenote.system.folder_trees import remove_tree
from pacenote.system.polling import can_read

MAX_OUTPUT_BYTES = 4 << 20
"""Bytes that are read of what it prints: a JVM prints about 100 kB, with all its flags."""

_BLOCK_BYTES = 1 << 16
_POLL_S = 0.1


class JvmOutput(Struct, frozen=True):
    """How a JVM has ended, and what it has printed."""

    exit_code: int | None
    """Its exit code, the negative number of the signal that killed it, or None if it did not end in time or
    within the bytes of output that are read.
    """
    text: str
    """What it printed, to both of its streams."""


def run_jvm(binary: Path, arguments: Sequence[str], user: ProcessUser | None, timeout_s: float) -> JvmOutput:
    """Runs a `java` command as a user, or as the current one, and returns what it prints. It is killed, with
    the processes that it has left in its session, after `timeout_s` or `MAX_OUTPUT_BYTES`.

    Raises EngineError if it cannot be started, and OSError if there is no temporary folder.
    """
    with _own_folder(user) as folder, contextlib.ExitStack() as descriptors:
        reading, writing = os.pipe()
        descriptors.callback(os.close, reading)
        try:
            environment = {"LANG": "C.UTF-8", "HOME": str(folder)}
            command = ChildCommand((str(binary), *arguments), folder, environment, writing, user)
            child = spawn_child(command)
        finally:
            os.close(writing)
        try:
            text = _output(reading, child, time.monotonic() + timeout_s)
            exit_code = child.exit_code
        finally:
            child.kill()
            child.wait(_POLL_S)
        return JvmOutput(exit_code, text.decode("utf-8", "replace"))


@contextlib.contextmanager
def _own_folder(user: ProcessUser | None) -> Generator[Path, None, None]:
    """Yields a new folder in which only the user can write."""
    temporary = Path(tempfile.mkdtemp(prefix="pacenote-java-"))
    try:
        # The user can replace neither: the one that it may write to is in one of the current user.
        temporary.chmod(0o711)
        folder = temporary / "work"
        folder.mkdir(mode=0o700)
        if user is not None:
            os.chown(folder, user.uid, user.gid)
        yield folder
    finally:
        # A process that has left the session may still write to it.
        remove_tree(temporary)


def _output(descriptor: int, child: ChildProcess, deadline: float) -> bytes:
    """Returns what a child writes until it has ended: what has left its session may keep the pipe open."""
    text = bytearray()
    while len(text) < MAX_OUTPUT_BYTES and time.monotonic() < deadline:
        has_ended = child.wait(0)
        if not can_read(descriptor, 0 if has_ended else _POLL_S):
            if has_ended:
                break
            continue
        part = os.read(descriptor, _BLOCK_BYTES)
        if not part:
            child.wait(max(0.0, deadline - time.monotonic()))
            break
        text += part
    return bytes(text)
