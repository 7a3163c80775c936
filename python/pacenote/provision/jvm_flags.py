"""The flags that are in force in a running JVM, as the JVM itself reports them (`jcmd PID VM.flags -all`)."""

from __future__ import annotations

import re

from pacenote.errors import EngineError
from pacenote.model.printable import single_line
from pacenote.net.jvm_attach import AttachLimits, execute

ATTACH_TIMEOUT_S = 3.0
"""Seconds within which the JVM must answer."""

_MAX_BYTES = 1 << 20
_FLAG = re.compile(r"\s*\S+\s+(\w+)\s*:?=(.*?)\{[^{}]*\}\s*(?:\{[^{}]*\}\s*)?")


def read_jvm_flags(pid: int, timeout_s: float = ATTACH_TIMEOUT_S) -> dict[str, str]:
    """Returns all flags of a running HotSpot JVM by name.

    Raises EngineError if the process is another JVM, if its options forbid asking it, or if it does not
    answer.
    """
    reply = execute(pid, "jcmd", ("VM.flags -all",), AttachLimits(timeout_s, timeout_s, _MAX_BYTES))
    if not reply.succeeded:
        reason = single_line(reply.text) or "it gives no reason"
        raise EngineError(f"the JVM {pid} does not report its flags: {reason}")
    return parse_flags(reply.text)


def parse_flags(text: str) -> dict[str, str]:
    """Returns the flags in the reply to `VM.flags -all`, or the output of `-XX:+PrintFlagsFinal`."""
    # By lines: a pattern for the whole text would try each line break of a million with all others.
    matches = filter(None, map(_FLAG.fullmatch, text.splitlines()))
    return {match[1]: match[2].strip() for match in matches}
