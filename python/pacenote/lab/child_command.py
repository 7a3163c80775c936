"""Commands of Pacenote in processes of their own, so that a crash of one does not end its parent."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import IO, BinaryIO

from msgspec import Struct

from pacenote.errors import StoreError
from pacenote.model.printable import shortened, whole_line
from pacenote.race.stop_signals import counting
from pacenote.store.atomic_files import PRIVATE_FILE, store_error
from pacenote.store.file_lock import shared_lock
from pacenote.store.home import default_home
from pacenote.system.paths import is_dir

Show = Callable[[str], None]
"""Shows what a child reports."""

_CHILD = "--child"  # Understood by the program.
_ERROR = "error: "
_HINT = "hint: "

_LONGEST_ERROR = 1000
"""Characters of an error message with its hint, which says what to do."""
_POLL_S = 0.25
_ENDING_POLL_S = 0.01
_READ_BYTES = 1 << 16


class ChildCall(Struct, frozen=True):
    """A command to run in a process of its own."""

    arguments: Sequence[str]
    """The command and its options, which may contain secrets."""

    log: Path
    """The file for its messages."""

    folder: Path
    """The folder that it runs in."""

    lock: Path | None = None
    """A file that its process locks until it has ended (`is_file_shared`)."""

    gate: Path | None = None
    """A file that races at the same time share to begin their first tasks together (`race/start_gate.py`)."""


class ChildExit(Struct, frozen=True):
    """How a child ended."""

    code: int
    """Its exit code; a negative one is the signal that killed it."""

    error: str = ""
    """Its error message; empty if it printed none."""

    stopped: bool = False
    """Whether the user stopped it."""

    output: bytes = b""
    """What it wrote to standard output."""


def run_children(calls: Sequence[ChildCall], shows: Sequence[Show]) -> tuple[ChildExit, ...]:
    """Runs commands at the same time until all have ended. They end with this process.

    Signals that stop this process are passed on to all of them instead of being raised. Raises StoreError if
    one cannot be started; the others are then stopped.
    """
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(counting())
        with _gates_held(calls):
            children = [stack.enter_context(_Child(*each)) for each in zip(calls, shows, strict=True)]
        passed_on = 0
        while any(child.is_running for child in children):
            _take_output(children)
            while passed_on < len(signals):
                passed_on += 1
                for child in children:
                    child.interrupt()
        return tuple(child.ended(stopped=len(signals) > 0) for child in children)


@contextlib.contextmanager
def _gates_held(calls: Sequence[ChildCall]) -> Generator[None, None, None]:
    """Keeps the gates closed within the block, in which all processes are started."""
    held = [shared_lock(gate) for gate in dict.fromkeys(call.gate for call in calls if call.gate)]
    try:
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)


def _take_output(children: Sequence[_Child]) -> None:
    """Waits a moment for output of any child, and takes it."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            for stream in child.streams:
                selector.register(stream, selectors.EVENT_READ, child)
        # A process that has closed its streams ends soon.
        for key, _ in selector.select(_POLL_S if selector.get_map() else _ENDING_POLL_S):
            key.data.take(key.fileobj)


class _Child:
    """One process, which has ended at the end of its context."""

    def __init__(self, call: ChildCall, show: Show) -> None:
        """Starts the process. Raises StoreError."""
        self._show = show
        self._messages: list[str] = []
        self._output = self._rest = b""
        self._log = _new_log(call.log)
        try:
            self._process = _started(call)
        except BaseException:
            self._log.close()
            raise
        self.streams = [stream for stream in (self._process.stdout, self._process.stderr) if stream]
        """The streams that the process has not closed."""
        for stream in self.streams:
            os.set_blocking(stream.fileno(), False)

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_error: object) -> None:
        # It still runs if another one could not be started.
        if self.is_running:
            self.interrupt()
        with self._log, self._process:
            pass

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended. One that it has started may keep its streams open."""
        return self._process.poll() is None

    def interrupt(self) -> None:
        """Asks the process to stop."""
        self._process.send_signal(signal.SIGINT)

    def take(self, stream: IO[bytes]) -> bool:
        """Takes what can be read from a stream without waiting, and returns whether there was anything."""
        try:
            data = os.read(stream.fileno(), _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self.streams.remove(stream)
        elif stream is self._process.stdout:
            self._output += data
        else:
            self._take_messages(data)
        return bool(data)

    def _take_messages(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # A full disk must not end the one that waits for the child.
            self._log.write(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace")
            if text.startswith((_ERROR, _HINT)):
                self._messages.append(text)
            elif text.strip():
                self._show(text)

    def ended(self, *, stopped: bool) -> ChildExit:
        """Returns how the process ended."""
        for stream in tuple(self.streams):
            while self.take(stream):
                pass
        error, hint = self._message(_ERROR), self._message(_HINT)
        text = f"{error} ({hint})" if error and hint else error
        return ChildExit(
            self._process.returncode, shortened(whole_line(text), _LONGEST_ERROR), stopped, self._output
        )

    def _message(self, prefix: str) -> str:
        return next((text.removeprefix(prefix) for text in self._messages if text.startswith(prefix)), "")


def _new_log(path: Path) -> BinaryIO:
    """Creates a log in place of an earlier one. Raises StoreError, also if its folder is a link: someone else
    may have made it, and what it leads to is not Pacenote's.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            # The one of an earlier attempt may have other names, under which it stays as it is.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            return os.fdopen(os.open(path.name, flags, PRIVATE_FILE, dir_fd=folder), "wb", buffering=0)
        finally:
            os.close(folder)
    except OSError as error:
        raise store_error("create", path, error) from error


def _started(call: ChildCall) -> subprocess.Popen[bytes]:
    """Starts a process, and sends it what to do. Raises StoreError."""
    if not is_dir(call.folder):
        raise StoreError(f"{call.folder} is gone", hint="paths of the options are relative to it")
    lock, gate = (None if path is None else shared_lock(path) for path in (call.lock, call.gate))
    held = [descriptor for descriptor in (lock, gate) if descriptor is not None]
    try:
        process = subprocess.Popen(
            # -P: a file of the folder must not replace a module.
            [sys.executable, "-P", "-m", "pacenote", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=call.folder,
            env=child_environment(),
            # In a group of its own: Ctrl-C in the terminal reaches only this process, which passes it on.
            process_group=0,
            pass_fds=held,
        )
    except OSError as error:
        raise StoreError(f"a race cannot be started: {error.strerror}") from error
    finally:
        for descriptor in held:
            os.close(descriptor)
    request = {
        "parent": os.getpid(),
        "lock": lock,
        "gate": gate,
        "program": sys.argv[0],
        "arguments": list(call.arguments),
    }
    assert process.stdin is not None  # it is a pipe
    # A process that has ended at once says why.
    with contextlib.suppress(BrokenPipeError), process.stdin as stream:
        stream.write(json.dumps(request).encode())
    return process


def child_environment() -> Mapping[str, str]:
    """Returns the environment of a child process, which may run in another folder."""
    # The width of this terminal does not concern the child, whose output goes to files.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    # It may run in another folder, to which relative homes would be relative.
    homes = {"PACENOTE_HOME": str(default_home())}
    if environment.get("RALLY_HOME"):
        homes["RALLY_HOME"] = str(Path(environment["RALLY_HOME"]).absolute())
    return environment | homes
