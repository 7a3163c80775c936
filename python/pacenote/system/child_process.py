"""Child processes: they end with Pacenote unless they are to outlive it, and may run as another user.

The kernel's parent-death signal is tied to the thread that started the child, not to its process. Every child
therefore has a supervisor: a thread that spawns the child, waits for it, reaps it and then ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.system.command import ending_with_this_process
from pacenote.system.process import ProcessIdentity, process_identity


class ProcessUser(Struct, frozen=True):
    """The user that a process runs as."""

    name: str
    """Login name."""
    uid: int
    """User id."""
    gid: int
    """Group id."""


class ChildCommand(Struct, frozen=True):
    """A command to run as a child process."""

    arguments: Sequence[str]
    """The program and its arguments."""
    folder: Path
    """The working directory."""
    environment: Mapping[str, str]
    """All environment variables of the child."""
    output: int
    """File descriptor for standard output and standard error."""
    user: ProcessUser | None
    """The user it runs as, or None for the current one."""
    input: bytes = b""
    """What it reads from standard input, at most 64 KiB; standard input then stays open until it ends. If
    this is empty, it has no standard input.
    """
    outlives: bool = False
    """Whether it keeps running when this process ends."""
    inherited: tuple[int, ...] = ()
    """File descriptors that it keeps open."""
    cpus: tuple[int, ...] = ()
    """The CPUs that it may use; empty for those of this process."""
    group_files: tuple[Path, ...] = ()
    """The files of control groups that it writes to in order to join them."""


class ChildProcess:
    """A running or ended child. Made by `spawn_child`."""

    def __init__(self, command: ChildCommand) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._failure: BaseException | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        # The lock is held for every signal and for reaping, so no signal can reach the id of a reaped child.
        self._lock = threading.Lock()
        self._kill_requested = False
        self.identity: ProcessIdentity | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        if self._process is None:
            raise RuntimeError("the child has not been started")
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, the negative number of the signal that killed it, or None while it runs."""
        return self._process.returncode if self._process is not None and self._ended.is_set() else None

    def wait(self, timeout_s: float) -> bool:
        """Waits for its end, and returns whether it has ended."""
        return self._ended.wait(timeout_s)

    def terminate(self) -> None:
        """Sends SIGTERM to the process."""
        self._signal(lambda pid: os.kill(pid, signal.SIGTERM))

    def kill(self) -> None:
        """Sends SIGKILL to the process and its process group."""
        self._signal(lambda pid: os.killpg(pid, signal.SIGKILL))

    def _signal(self, send: Callable[[int], None]) -> None:
        with self._lock:
            self._kill_requested = True
            if self._process is not None and self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    send(self._process.pid)

    def _supervise(self) -> None:
        try:
            process = _spawn(self._command)
        except BaseException as failure:
            self._failure = failure
            self._ended.set()
            self._started.set()
            return
        with self._lock:
            self._process = process
            self.identity = process_identity(process.pid)
            if self._kill_requested:
                # The caller was interrupted (Ctrl-C) before the process was spawned.
                process.kill()
        self._started.set()
        self._send_input(process)
        # This waits without reaping, so the id is not reused before the lock is held.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            # Kills processes that the child left running, while its id still identifies their group.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        self._ended.set()

    def _send_input(self, process: subprocess.Popen[bytes]) -> None:
        """Writes the input, without closing it: an engine may stop when its standard input ends."""
        if process.stdin is not None:
            # A child that ends early is reported with its exit code.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(self._command.input)
                process.stdin.flush()


def spawn_child(command: ChildCommand) -> ChildProcess:
    """Spawns a child in its own session. Unless it `outlives` this process, the kernel sends it SIGKILL when
    this process ends for any reason.

    Raises EngineError if it cannot be started.
    """
    child = ChildProcess(command)
    threading.Thread(target=child._supervise, name="pacenote-supervisor", daemon=True).start()
    try:
        child._started.wait()
    except BaseException:
        child.kill()
        raise
    if child._failure is not None:
        program = command.arguments[0]
        user = f" as user {command.user.name}" if command.user else ""
        raise EngineError(
            f"{program} cannot be started{user}: {child._failure}",
            hint="check that root may change to that user here, or run Pacenote as another user"
            if command.user
            else "check that this program exists and runs",
        ) from child._failure
    return child


def _spawn(command: ChildCommand) -> subprocess.Popen[bytes]:
    if command.outlives and command.input:
        return _spawn_with_own_input(command)
    return _popen(command, subprocess.PIPE if command.input else subprocess.DEVNULL, command.inherited)


def _spawn_with_own_input(command: ChildCommand) -> subprocess.Popen[bytes]:
    """Spawns a child that inherits both ends of its standard input, which therefore never ends."""
    reading, writing = os.pipe()
    try:
        os.write(writing, command.input)
        return _popen(command, reading, (*command.inherited, writing))
    finally:
        os.close(reading)
        os.close(writing)


def _popen(command: ChildCommand, standard_input: int, inherited: tuple[int, ...]) -> subprocess.Popen[bytes]:
    user = command.user
    with contextlib.ExitStack() as files, warnings.catch_warnings():
        # Root opens them: the child, which is another user, may not.
        groups = [files.enter_context(path.open("wb", buffering=0)).fileno() for path in command.group_files]
        # Python warns about code between fork and exec in a process with threads. This code only calls the
        # kernel, through functions looked up before the fork; it takes no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            command.arguments,
            cwd=command.folder,
            env=dict(command.environment),
            stdin=standard_input,
            stdout=command.output,
            stderr=subprocess.STDOUT,
            # In a separate session: Ctrl-C in the terminal reaches only Pacenote, which then stops the child.
            start_new_session=True,
            pass_fds=inherited,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
            umask=0o022,
            preexec_fn=_preparation(command, groups),
        )


def _preparation(command: ChildCommand, groups: Sequence[int]) -> Callable[[], None]:
    """Returns a function that prepares its calling process for a command: it uses only the CPUs of the
    command, is in these control groups, and is killed when this process ends, unless it outlives it.
    """
    cpus, end_with_owner = command.cpus, None if command.outlives else ending_with_this_process()

    def prepare() -> None:
        for group in groups:
            os.write(group, b"0")
        if cpus:
            os.sched_setaffinity(0, cpus)
        # Called after the change of user.
        if end_with_owner is not None:
            end_with_owner()

    return prepare
