"""Child processes: they end with Pacenote unless they are to outlive it, have unambiguous identities, and may
run as another user.

The kernel's parent-death signal is tied to the thread that started the child, not to its process. Every child
therefore has a supervisor: a thread that spawns the child, waits for it, reaps it and then ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.command import ending_with_this_process
from pacenote.errors import EngineError
from pacenote.provision.layout import NodeUser

_FLOCK = re.compile(r"^lock:.*\bFLOCK\b", re.MULTILINE)

_ENDING_S = 10.0
"""Seconds within which a process that has given up its program ends."""


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
    """Returns the identity of the process with this id, or None if it does not exist or is a zombie.

    A zombie whose other threads still end, and so hold its files, runs.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
    # The fields after the name, which may itself contain blanks and brackets. The first is the state, the
    # 18th is the number of threads, the 20th is the start time.
    has_ended = fields[0] == "X" or (fields[0] == "Z" and int(fields[17]) <= 1)
    return None if has_ended else ProcessIdentity(pid, int(fields[19]), boot)


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


def works_below(pid: int, folder: Path) -> bool:
    """Returns whether the working directory of a process is this folder or below it.

    Compares the folders themselves, not only their paths: in another container, the same path may name
    another folder.
    """
    current = Path(f"/proc/{pid}/cwd")
    try:
        path = current.readlink()
        return path.is_relative_to(folder.resolve()) and current.samefile(path)
    except OSError:
        return False


def processes_with_lock(file: Path) -> tuple[ProcessIdentity, ...]:
    """Returns the processes that hold the lock on this file (flock), except this one and those of other
    users. A process that only reads the file is not among them.
    """
    try:
        status = file.stat()
    except OSError:
        return ()
    names = (each.name for each in Path("/proc").iterdir())
    others = (int(name) for name in names if name.isdigit() and int(name) != os.getpid())
    found = (process_identity(pid) for pid in others if _has_lock(pid, status))
    return tuple(process for process in found if process is not None)


def kill_processes_with_lock(file: Path, is_expected: Callable[[int], bool] = lambda _: True) -> bool:
    """Kills the processes that hold the lock on this file, except this one, those of other users, and those
    for whose ids `is_expected` returns False; returns whether there were any.
    """
    try:
        status = file.stat()
    except OSError:
        return False

    def is_meant(pid: int) -> bool:
        return is_expected(pid) and _has_lock(pid, status)

    meant = [process for process in processes_with_lock(file) if is_meant(process.pid)]
    for process in meant:
        kill_process(process, is_meant)
    return bool(meant)


def _has_lock(pid: int, file: os.stat_result) -> bool:
    """Returns whether a process holds the lock on a file; False for processes of other users."""
    try:
        opened = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
    for each in opened:
        with contextlib.suppress(OSError):
            # The kernel lists a lock with all descriptors that inherited it, and with no other ones.
            if os.path.samestat(each.stat(), file) and _FLOCK.search(
                Path(f"/proc/{pid}/fdinfo/{each.name}").read_text("ascii", "replace")
            ):
                return True
    return False


def session_members(leader: ProcessIdentity) -> tuple[ProcessIdentity, ...]:
    """Returns the running processes of a session other than its leader, which may have ended.

    They are descendants of the leader, unless its id was reused in the meantime.
    """
    found = (process_identity(int(entry.name)) for entry in Path("/proc").glob("[0-9]*"))
    return tuple(
        each
        for each in found
        if each is not None
        and each.pid != leader.pid
        and (each.boot, session_of(each.pid)) == (leader.boot, leader.pid)
        and each.started >= leader.started
    )


def session_of(pid: int) -> int | None:
    """Returns the id of the session of a process, which is the process id of its leader, or None."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def kill_process(
    process: ProcessIdentity, is_expected: Callable[[int], bool], timeout_s: float = 5.0
) -> bool:
    """Kills a process that is not a child, waits for its end, and returns whether it has ended.

    Never affects a later process with the same id, or one for whose id `is_expected` returns False.
    """
    return _signal_process(process, is_expected, signal.SIGKILL) and _await_end(process, timeout_s)


def terminate_process(
    process: ProcessIdentity, is_expected: Callable[[int], bool], timeout_s: float = 10.0
) -> bool:
    """Sends SIGTERM to a process that is not a child, and SIGKILL after `timeout_s`; returns whether it has
    ended.

    Never affects a process that `kill_process` would not affect.
    """
    if not _signal_process(process, is_expected, signal.SIGTERM):
        return False
    return _await_end(process, timeout_s) or kill_process(process, is_expected)


def _signal_process(
    process: ProcessIdentity, is_expected: Callable[[int], bool], number: signal.Signals
) -> bool:
    """Sends a signal, and returns whether the process got it or has ended."""
    try:
        # The descriptor refers to this process, so the signal cannot reach a later process with the same id.
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return not is_running(process)
    try:
        if is_running(process):
            if not is_expected(process.pid):
                return _is_ending(process.pid) and _await_end(process, _ENDING_S)
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return not is_running(process)
    finally:
        os.close(descriptor)
    return True


def _is_ending(pid: int) -> bool:
    """Returns whether a process has given up its program, and is about to become a zombie."""
    try:
        Path(f"/proc/{pid}/exe").readlink()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _await_end(process: ProcessIdentity, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
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
