"""Sends commands to a HotSpot JVM on this host through its attach mechanism, as `jcmd` and `jmap` do.

The mechanism: a file `.attach_pidPID` in the working directory of the JVM, or in its folder of temporary
files, and SIGQUIT make the JVM listen on the Unix socket `.java_pidPID`; a request is the version of the
protocol, a command and three arguments, each ending with a zero byte; the response begins with a line with
the result (attachListener.cpp in OpenJDK). A JVM that does not know the protocol would print its threads or
end, so only one that does gets the signal.

Every user may create files where the socket is. So the kernel is asked which process listens on it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import socket
import stat
import struct
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.system.paths import open_place
from pacenote.system.process import ProcessIdentity, effective_user, process_identity, send_signal
from pacenote.system.process_memory import read_process_memory
from pacenote.system.process_places import process_place
from pacenote.units import format_bytes

_POLL_S = 0.005
_OTHERS = 0o077
"""Permissions of other users than the owner of a file."""

_MAX_PROC_BYTES = 64 << 20
"""Bytes of a file in /proc that are read: a process can state that its arguments are all of its memory. Its
mappings have 40 MiB if it maps as many files as engines ask the kernel to allow.
"""

_ARGUMENTS = 3
"""Number of arguments of every command."""

_CREDENTIALS = struct.Struct("iII")
"""The process, the user and the group of the peer of a Unix socket (`struct ucred`)."""

_CAUGHT = re.compile(r"^SigCgt:\s*([0-9a-f]+)", re.MULTILINE)
_INNER_PID = re.compile(r"^NSpid:.*?(\d+)$", re.MULTILINE)
_REFUSING = "-XX:+DisableAttachMechanism"


class AttachLimits(Struct, frozen=True):
    """How long a JVM may take, and how much it may send."""

    listen_s: float
    """Seconds within which it must begin to listen."""
    reply_s: float
    """Seconds within which its reply must end."""
    reply_bytes: int
    """Bytes of the reply that are read."""


class AttachReply(Struct, frozen=True):
    """The reply of a JVM to a command."""

    succeeded: bool
    """Whether the JVM executed the command."""
    text: str
    """What it reports."""


def execute(pid: int, command: str, arguments: Sequence[str], limits: AttachLimits) -> AttachReply:
    """Returns the reply of a JVM to a command with up to three arguments.

    Raises EngineError if the process is not a HotSpot JVM, if its options forbid asking it, if another
    process would answer for it, or if it does not answer.
    """
    # The process that is examined gets the signal, not a later one with its id.
    process = process_identity(pid)
    if process is None:
        raise EngineError(f"the JVM {pid} does not run")
    jvm = _find_jvm(pid)
    padded = (*arguments, *("" for _ in range(_ARGUMENTS - len(arguments))))
    request = b"".join(part.encode() + b"\0" for part in ("1", command, *padded))
    try:
        place = jvm.open_socket()
        if place is None:
            place = _make_it_listen(jvm, process, limits.listen_s)
        try:
            reply = _exchange(jvm, place, request, limits)
        finally:
            os.close(place)
    except OSError as error:
        raise EngineError(f"the JVM {pid} does not answer {command}: {error.strerror or error}") from error
    code, _, text = reply.decode("utf-8", "replace").partition("\n")
    return AttachReply(code.strip() == "0", text)


class _Jvm(Struct, frozen=True):
    """A JVM that listens when it is asked to."""

    pid: int
    """Its process id."""
    inner_pid: str
    """Its process id in its own container."""
    user: int
    """The id of the user it runs as."""

    @property
    def socket_file(self) -> Path:
        """Its socket, in its own folder of temporary files, which may be in another container."""
        return Path(f"/proc/{self.pid}/root/tmp/.java_pid{self.inner_pid}")

    @property
    def trigger(self) -> str:
        """The name of the file that makes it listen."""
        return f".attach_pid{self.inner_pid}"

    @contextlib.contextmanager
    def temporary_folder(self) -> Generator[int, None, None]:
        """Opens its folder of temporary files. Raises OSError, also if it has mounts of its own."""
        with process_place(self.pid, "root") as root:
            folder = open_place("tmp", folder=root)
            try:
                yield folder
            finally:
                os.close(folder)

    def open_socket(self) -> int | None:
        """Opens the place of its socket, which no other file can take, or returns None if there is none.
        Raises OSError, and EngineError if another user may have made it.
        """
        with self.temporary_folder() as folder:
            try:
                place = open_place(self.socket_file.name, follows_last=False, folder=folder)
            except FileNotFoundError:
                return None
        status = os.fstat(place)
        is_own = stat.S_ISSOCK(status.st_mode) and status.st_uid == self.user
        if not is_own or stat.S_IMODE(status.st_mode) & _OTHERS:
            os.close(place)
            raise EngineError(f"{self.socket_file} is not a socket that only the JVM's user can use")
        return place

    def check_peer(self, connection: socket.socket) -> None:
        """Raises EngineError unless the JVM itself listens on a socket: its file may have been replaced, also
        by another process of the same user.
        """
        size = _CREDENTIALS.size
        pid, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        # The kernel returns 0 for a process that this process cannot see.
        if user != self.user or pid not in (0, self.pid):
            raise EngineError(
                f"the process {pid} of user {user}, not the JVM {self.pid}, listens on {self.socket_file}"
            )


def _find_jvm(pid: int) -> _Jvm:
    """Raises EngineError for a process that is not HotSpot, or that does not expect the signal."""
    folder = Path(f"/proc/{pid}")
    try:
        arguments = _read(folder / "cmdline").split("\0")
        libraries = _read(folder / "maps")
        status = _read(folder / "status")
    except (FileNotFoundError, ProcessLookupError) as error:
        raise EngineError(f"the JVM {pid} does not run") from error
    except OSError as error:
        raise EngineError(f"the JVM {pid} cannot be asked: {error.strerror}") from error
    if "/libjvm.so" not in libraries or "/libj9" in libraries:
        raise EngineError(f"the process {pid} cannot be asked: only HotSpot answers while it runs")
    if _REFUSING in arguments:
        raise EngineError(f"the JVM {pid} cannot be asked: {_REFUSING} forbids it")
    caught, inner = _CAUGHT.search(status), _INNER_PID.search(status)
    if caught is None or not int(caught[1], 16) & 1 << (signal.SIGQUIT - 1):
        # With -Xrs, wherever it was set, the signal would end the JVM.
        raise EngineError(f"the JVM {pid} does not handle SIGQUIT, by which it is asked")
    # The JVM uses the process id of its own container.
    user = effective_user(status)
    return _Jvm(pid, inner[1] if inner else str(pid), -1 if user is None else user)


def _read(file: Path) -> str:
    """Returns the text of a file in /proc, which the process can make long, or withhold. Raises OSError."""
    data = read_process_memory(file, _MAX_PROC_BYTES + 1)
    if len(data) > _MAX_PROC_BYTES:
        raise OSError(errno.EFBIG, f"{file} is longer than {format_bytes(_MAX_PROC_BYTES)}")
    return data.decode("utf-8", "replace")


def _make_it_listen(jvm: _Jvm, process: ProcessIdentity, timeout_s: float) -> int:
    """Makes the JVM open its socket, and returns its place. Raises OSError and EngineError."""
    deadline = time.monotonic() + timeout_s
    with _trigger(jvm):
        send_signal(process, signal.SIGQUIT)
        while (place := jvm.open_socket()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"it does not listen within {timeout_s:g} s")
            time.sleep(_POLL_S)
    return place


@contextlib.contextmanager
def _trigger(jvm: _Jvm) -> Generator[None, None, None]:
    """Creates the file that makes the JVM listen, and removes it from the same folder, wherever the JVM works
    then. Raises OSError if none can be created.
    """
    with contextlib.ExitStack() as opened:
        # It looks for the file in its working folder and in its folder of temporary files, which it can
        # change at any time.
        try:
            folder = opened.enter_context(process_place(jvm.pid, "cwd"))
            _create_trigger(jvm, folder)
        except OSError:
            folder = opened.enter_context(jvm.temporary_folder())
            _create_trigger(jvm, folder)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(jvm.trigger, dir_fd=folder)


def _create_trigger(jvm: _Jvm, folder: int) -> None:
    """Creates the file in a folder. Raises OSError, also for a folder in which the JVM's user could not
    create it: the JVM may work in one of root, such as that of cron.
    """
    status = os.fstat(folder)
    if status.st_uid != jvm.user and not status.st_mode & stat.S_IWOTH:
        raise OSError(errno.EACCES, "it works in a folder in which its user cannot create a file")
    # The folders belong to other users, who could have put a link there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(jvm.trigger, flags, 0o600, dir_fd=folder))


def _exchange(jvm: _Jvm, place: int, request: bytes, limits: AttachLimits) -> bytes:
    """Returns the reply to a request at the place of the socket. Raises OSError and EngineError."""
    deadline = time.monotonic() + limits.reply_s
    reply = bytearray()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(limits.reply_s)
        connection.connect(f"/proc/self/fd/{place}")
        jvm.check_peer(connection)
        connection.sendall(request)
        while len(reply) < limits.reply_bytes and (part := connection.recv(1 << 16)):
            reply += part
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                raise TimeoutError("its reply does not end")
            connection.settimeout(remaining_s)
    return bytes(reply)
