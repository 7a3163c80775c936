"""A child process that cannot outlive us, cannot be mistaken for another one, and can run as another user.

The kernel's "parent died" signal is tied to the thread that started the child, not to the process. So every
child has a keeper: a thread that starts it, waits for it and reaps it, and lives exactly as long as it does.
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
class Identity:
    """A process that is this one and no later one with the same number.

    `started` is in clock ticks since the boot that `boot` names.
    """

    pid: int
    started: int
    boot: str


def identify(pid: int) -> Identity | None:
    """Who has this number now; None when nobody has, or only an unreaped dead process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
    # Fields after the name, which may itself hold blanks and brackets: state is the first, start time the
    # 20th.
    return None if fields[0] in "ZX" else Identity(pid, int(fields[19]), boot)


def is_running(who: Identity) -> bool:
    """Whether exactly this process still runs."""
    return identify(who.pid) == who


def kill_other(who: Identity, patience: float = 5.0) -> bool:
    """Kill a process that is not our child, and wait up to `patience` seconds; whether it is gone.

    Another process that has got the same number since is never touched.
    """
    deadline = time.monotonic() + patience
    try:
        # The descriptor pins the process: between the check and the signal its number cannot go to another
        # one.
        pinned = os.pidfd_open(who.pid)
    except OSError:
        return not is_running(who)
    try:
        if is_running(who):
            signal.pidfd_send_signal(pinned, signal.SIGKILL)
    except OSError:
        return not is_running(who)
    finally:
        os.close(pinned)
    while is_running(who):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: arguments, folder, environment (all of it), the descriptor for its output, and as whom."""

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    output: int
    user: NodeUser | None


class Child:
    """A running or finished child. Made by `start_child`."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._failure: BaseException | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        # Held for every signal and for reaping, so that no signal can go to a reaped child's number.
        self._lock = threading.Lock()
        self._unwanted = False
        self.identity: Identity | None = None

    @property
    def pid(self) -> int:
        """Its process number."""
        if self._process is None:
            raise RuntimeError("the child has not been started")
        return self._process.pid

    @property
    def code(self) -> int | None:
        """None while it runs, else its exit code; the negative number of the signal that killed it."""
        return self._process.returncode if self._process is not None and self._ended.is_set() else None

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for its end; whether it has ended."""
        return self._ended.wait(seconds)

    def terminate(self) -> None:
        """Ask it to end."""
        self._signal(lambda pid: os.kill(pid, signal.SIGTERM))

    def kill(self) -> None:
        """End it now, and everything it started that stayed in its group."""
        self._signal(lambda pid: os.killpg(pid, signal.SIGKILL))

    def _signal(self, send: Callable[[int], None]) -> None:
        with self._lock:
            self._unwanted = True
            if self._process is not None and self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    send(self._process.pid)

    def _keep(self) -> None:
        try:
            process = _spawn(self._command)
        except BaseException as failure:
            self._failure = failure
            self._ended.set()
            self._started.set()
            return
        with self._lock:
            self._process = process
            self.identity = identify(process.pid)
            if self._unwanted:
                # Whoever asked for it has gone (Ctrl-C between asking and getting).
                process.kill()
        self._started.set()
        # Wait without reaping, so that the number stays taken until the lock is held.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            # What the child started and left behind goes with it, while its number still names the group.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._ended.set()


def start_child(command: Command) -> Child:
    """Start a child in its own session; it gets SIGKILL when this process dies, however it dies.

    Raises EngineError when it cannot be started.
    """
    child = Child(command)
    threading.Thread(target=child._keep, name="pacenote-keeper", daemon=True).start()
    try:
        child._started.wait()
    except BaseException:
        child.kill()
        raise
    if child._failure is not None:
        program = command.arguments[0]
        who = f" as user {command.user.name}" if command.user else ""
        raise EngineError(
            f"{program} cannot be started{who}: {child._failure}",
            hint="check that root may change to that user here, or run Pacenote as another user",
        ) from child._failure
    return child


def _spawn(command: Command) -> subprocess.Popen[bytes]:
    user = command.user
    with warnings.catch_warnings():
        # Newer Pythons warn of any code between fork and exec when there are threads. Ours calls two
        # functions of the C library, prepared before the fork; it takes no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            command.arguments,
            cwd=command.folder,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=command.output,
            stderr=subprocess.STDOUT,
            # Out of the terminal's reach: Ctrl-C must come to us, who then stop the child in order.
            start_new_session=True,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
            umask=0o022,
            preexec_fn=_die_with_parent(),
        )


def _die_with_parent() -> Callable[[], None]:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    parent = os.getpid()

    def prepare() -> None:
        # Python runs this after the change of user, which would have cleared the setting.
        if prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(127)

    return prepare
