"""The flags that are in force in a running JVM, as the JVM itself reports them (`jcmd PID VM.flags -all`).

HotSpot's attach protocol: a file `.attach_pid<PID>` and SIGQUIT make the JVM listen on a socket
`.java_pid<PID>`; a request is its version, a command and three arguments, each ended by a zero byte. A JVM
that does not know the protocol would print its threads or end, so only one that does gets the signal.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.model.printable import single_line

ATTACH_TIMEOUT_S = 3.0
"""Seconds within which the JVM must answer."""

_POLL_S = 0.005
_MAX_BYTES = 1 << 20
_REQUEST = b"1\0jcmd\0VM.flags -all\0\0\0"
_FLAG = re.compile(r"^\s*\S+\s+(\w+)\s*:?=(.*?)\{[^{}]*\}\s*(?:\{[^{}]*\}\s*)?$", re.MULTILINE)
_CAUGHT = re.compile(r"^SigCgt:\s*([0-9a-f]+)", re.MULTILINE)
_OTHERS = 0o077
"""Permissions of other users than the owner of a file."""

_REFUSING = "-XX:+DisableAttachMechanism"


@dataclass(frozen=True, slots=True)
class _Jvm:
    """A JVM that listens when it is asked to."""

    pid: int
    """Its process id."""
    inner_pid: str
    """Its process id in its own container."""
    user: int
    """The id of the user it runs as."""

    def file(self, name: str) -> Path:
        """Returns a file in its own folder of temporary files, which may be in another container."""
        return Path(f"/proc/{self.pid}/root/tmp/.{name}_pid{self.inner_pid}")

    def listens(self) -> bool:
        """Returns whether its socket exists. Raises EngineError if that is not its own: every user may create
        files there, and could answer for it.
        """
        try:
            found = self.file("java").lstat()
        except FileNotFoundError:
            return False
        is_own = stat.S_ISSOCK(found.st_mode) and found.st_uid == self.user
        if not is_own or stat.S_IMODE(found.st_mode) & _OTHERS:
            raise EngineError(f"{self.file('java')} is not a socket that only the JVM's user can use")
        return True


def read_jvm_flags(pid: int, timeout_s: float = ATTACH_TIMEOUT_S) -> dict[str, str]:
    """Returns all flags of a running HotSpot JVM by name.

    Raises EngineError if the process is another JVM, if its options forbid asking it, or if it does not
    answer.
    """
    folder = Path(f"/proc/{pid}")
    try:
        arguments = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        libraries = (folder / "maps").read_text("utf-8", "replace")
        status = (folder / "status").read_text("utf-8", "replace")
    except OSError as error:
        raise EngineError(f"the JVM cannot be asked for its flags: {error.strerror}") from error
    _check(arguments, libraries, status)
    # The effective user is the second one.
    user = re.search(r"^Uid:\s+\d+\s+(\d+)", status, re.MULTILINE)
    # The JVM uses the process id of its own container.
    inner = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
    jvm = _Jvm(pid, inner[1] if inner else str(pid), int(user[1]) if user else -1)
    try:
        return parse_flags(_ask(jvm, time.monotonic() + timeout_s))
    except OSError as error:
        raise EngineError(f"the JVM does not report its flags: {error.strerror or error}") from error


def parse_flags(text: str) -> dict[str, str]:
    """Returns the flags in the reply to `VM.flags -all`, or the output of `-XX:+PrintFlagsFinal`."""
    return {name: value.strip() for name, value in _FLAG.findall(text)}


def _check(arguments: Sequence[str], libraries: str, status: str) -> None:
    """Raises EngineError for a JVM that is not HotSpot, or that does not expect the signal."""
    if "/libjvm.so" not in libraries or "/libj9" in libraries:
        raise EngineError("only HotSpot reports its flags while it runs")
    if _REFUSING in arguments:
        raise EngineError(f"{_REFUSING} forbids asking the JVM for its flags")
    caught = _CAUGHT.search(status)
    if caught is None or not int(caught[1], 16) & 1 << (signal.SIGQUIT - 1):
        # With -Xrs, wherever it was set, the signal would end the JVM.
        raise EngineError("the JVM does not handle SIGQUIT, by which it is asked for its flags")


def _ask(jvm: _Jvm, deadline: float) -> str:
    """Returns the reply of the JVM. Raises OSError, and EngineError if the JVM reports an error."""
    if not jvm.listens():
        _make_it_listen(jvm, deadline)
    reply = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        connection.connect(str(jvm.file("java")))
        connection.sendall(_REQUEST)
        while len(reply) < _MAX_BYTES and (part := connection.recv(1 << 16)):
            reply += part
            if time.monotonic() > deadline:
                raise TimeoutError("its reply does not end")
    code, _, text = reply.decode("utf-8", "replace").partition("\n")
    if code.strip() != "0":
        raise EngineError(f"the JVM does not report its flags: {single_line(text) or 'no reason'}")
    return text


def _make_it_listen(jvm: _Jvm, deadline: float) -> None:
    """Makes the JVM open its socket. Raises OSError and EngineError."""
    trigger = jvm.file("attach")
    os.close(os.open(trigger, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:
        os.kill(jvm.pid, signal.SIGQUIT)
        while not jvm.listens():
            if time.monotonic() > deadline:
                raise TimeoutError("it does not answer")
            time.sleep(_POLL_S)
    finally:
        with contextlib.suppress(OSError):
            trigger.unlink()
