"""Child processes that end when Pacenote ends, have unambiguous identities, and may run as another user.

The kernel's parent-death signal is tied to the thread that started the child, not to its process. Every child
therefore has a supervisor: a thread that spawns the child, waits for it, reaps it and then ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.provision.layout import NodeUser

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Identifies one process; a later process with the same id has a different identity."""

    pid: int
    """Process id."""
    started: int
    """Start time in clock ticks since the boot."""
    boot: str
    """Id of the boot, as the kernel reports it."""


def process_identity(pid: int) -> ProcessIdentity | None:
    """Returns the identity of the process with this id, or None if it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
    # The fields after the name, which may itself contain blanks and brackets. The first is the state, the
    # 20th is the start time.
    return None if fields[0] in "ZX" else ProcessIdentity(pid, int(fields[19]), boot)


def is_running(process: ProcessIdentity) -> bool:
    """Returns whether this process is still running."""
    return process_identity(process.pid) == process


def can_identify_processes() -> bool:
    """Returns whether `process_identity` works here, that is, whether /proc is available."""
    return process_identity(os.getpid()) is not None


def process_executable(pid: int) -> str:
    """Returns the path of the program that a process runs, or an empty string if it cannot be read."""
    try:
        # The kernel appends this if the file was deleted or replaced while the process runs.
        return str(Path(f"/proc/{pid}/exe").readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""


def works_in(pid: int, folder: Path) -> bool:
    """Returns whether the working directory of a process is this folder.

    Compares the folders themselves, not their paths: in another container, the same path may name another
    folder.
    """
    try:
        return Path(f"/proc/{pid}/cwd").samefile(folder)
    except OSError:
        return False


def kill_process(
    process: ProcessIdentity, is_expected: Callable[[int], bool], timeout_s: float = 5.0
) -> bool:
    """Kills a process that is not a child, waits for its end, and returns whether it has ended.

    Never affects a later process with the same id, or one for whose id `is_expected` returns False.
    """
    deadline = time.monotonic() + timeout_s
    try:
        # The descriptor refers to this process, so the signal cannot reach a later process with the same id.
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return not is_running(process)
    try:
        if is_running(process):
            if not is_expected(process.pid):
                return False
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:
        return not is_running(process)
    finally:
        os.close(descriptor)
    while is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """A command to run as a child process."""

    arguments: Sequence[str]
    """The program and its arguments."""
    folder: Path
    """The working directory."""
    environment: Mapping[str, str]
    """All environment variables of the child."""
    output: int
    """File descriptor for standard output and standard error."""
    user: NodeUser | None
    """The user it runs as, or None for the current one."""


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
        # This waits without reaping, so the id is not reused before the lock is held.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            # Kills processes that the child left running, while its id still identifies their group.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._ended.set()


def spawn_child(command: ChildCommand) -> ChildProcess:
    """Spawns a child in its own session. The kernel sends it SIGKILL when this process ends for any reason.

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
            hint="check that root may change to that user here, or run Pacenote as another user",
        ) from child._failure
    return child


def _spawn(command: ChildCommand) -> subprocess.Popen[bytes]:
    user = command.user
    with warnings.catch_warnings():
        # Python warns about code between fork and exec in a process with threads. This code calls two
        # functions of the C library, looked up before the fork; it takes no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            command.arguments,
            cwd=command.folder,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=command.output,
            stderr=subprocess.STDOUT,
            # In a separate session: Ctrl-C in the terminal reaches only Pacenote, which then stops the child.
            start_new_session=True,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
            umask=0o022,
            preexec_fn=_die_with_parent(),
        )


def _die_with_parent() -> Callable[[], None]:
    """Returns a function that makes the kernel kill its calling process when this process ends."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    parent = os.getpid()

    def prepare() -> None:
        # Called after the change of user, which clears the setting.
        if prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(127)

    return prepare
