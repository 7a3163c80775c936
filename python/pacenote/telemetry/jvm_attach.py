"""Sends commands to a HotSpot JVM on this host through its attach mechanism, as `jmap -dump` and `jcmd` do.

A runtime without tools has no `jmap`. The mechanism: a file `.attach_pidPID` in the working directory of the
JVM and SIGQUIT make the JVM listen on the Unix socket `.java_pidPID` in its temporary folder; a request is
the version of the protocol, a command and three arguments, each ending with a zero byte; the response begins
with a line with the result (attachListener.cpp in OpenJDK).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.model.printable import single_line

_ATTACH_TIMEOUT_S = 20.0
"""Seconds within which a JVM begins to listen."""

_DUMP_TIMEOUT_S = 600.0
"""Seconds within which it writes a dump."""

_POLL_S = 0.05
_OTHERS = 0o077
"""Permissions of other users than the owner of a file."""
_MAX_RESPONSE = 64 * 1024


def dump_heap(pid: int, file: Path) -> None:
    """Writes all objects on the heap of a JVM, also unreachable ones, to a file that its user may create.

    Raises EngineError if the JVM does not run, cannot be attached to, or cannot write the file.
    """
    response = execute(pid, "dumpheap", (str(file), "-all", ""))
    status, _, text = response.partition("\n")
    if status.strip() != "0" or "failed" in text.lower() or "unable to create" in text.lower():
        reason = single_line(text.strip() or response.strip()) or "it gives no reason"
        raise EngineError(f"the JVM {pid} cannot write the heap dump {file}: {reason}")


def execute(pid: int, command: str, arguments: tuple[str, str, str]) -> str:
    """Returns the response of a JVM to a command; its first line is 0 if it succeeded. Raises EngineError."""
    path = _listening_socket(pid)
    request = b"".join(part.encode() + b"\0" for part in ("1", command, *arguments))
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_DUMP_TIMEOUT_S)
            connection.connect(str(path))
            connection.sendall(request)
            response = bytearray()
            while (part := connection.recv(4096)) and len(response) < _MAX_RESPONSE:
                response += part
    except OSError as error:
        raise EngineError(f"the JVM {pid} does not respond to {command}: {error}") from error
    return response.decode("utf-8", "replace")


def _listening_socket(pid: int) -> Path:
    """Returns the socket of a JVM, which begins to listen if it does not yet. Raises EngineError."""
    process = Path("/proc", str(pid))
    own_pid, user = _identity(process)
    path = process / "root" / "tmp" / f".java_pid{own_pid}"
    if _is_socket(path, user):
        return path
    request = process / "cwd" / f".attach_pid{own_pid}"
    try:
        # The folder belongs to the user of the JVM, who could have put a link there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(request, flags, 0o600))
    except OSError as error:
        raise EngineError(f"the JVM {pid} cannot be attached to: {error.strerror}") from error
    try:
        os.kill(pid, signal.SIGQUIT)
        if _await(lambda: _is_socket(path, user)):
            return path
    except OSError as error:
        raise EngineError(f"the JVM {pid} cannot be attached to: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            request.unlink()
    raise EngineError(
        f"the JVM {pid} does not accept connections within {_ATTACH_TIMEOUT_S:.0f} s",
        hint="a JVM with -XX:+DisableAttachMechanism or OpenJ9 cannot write a heap dump this way",
    )


def _identity(process: Path) -> tuple[int, int]:
    """Returns the id of a process as it sees it itself, and that of its user. Raises EngineError if it does
    not exist.
    """
    try:
        lines = (process / "status").read_text("ascii", "replace").splitlines()
    except OSError as error:
        raise EngineError(f"the JVM {process.name} does not run") from error
    fields = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("NSpid:", "Uid:"))}
    # The effective user is the second one.
    return int(fields.get("NSpid:", [process.name])[-1]), int(fields["Uid:"][1])


def _is_socket(path: Path, user: int) -> bool:
    """Returns whether the socket of a JVM exists. Raises EngineError if another user may have made it: every
    user may create files there, and could answer for the JVM.
    """
    try:
        status = path.lstat()
    except OSError:
        return False
    is_own = stat.S_ISSOCK(status.st_mode) and status.st_uid == user
    if not is_own or stat.S_IMODE(status.st_mode) & _OTHERS:
        raise EngineError(f"{path} is not a socket that only the JVM's user can use")
    return True


def _await(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _ATTACH_TIMEOUT_S
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(_POLL_S)
    return condition()
