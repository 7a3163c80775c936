"""Heap dumps of running JVMs, as `jmap -dump` writes them: a runtime without tools has no `jmap`."""

from __future__ import annotations

from pathlib import Path

from pacenote.errors import EngineError
from pacenote.model.printable import single_line
from pacenote.net.jvm_attach import AttachLimits, execute

_LIMITS = AttachLimits(listen_s=20.0, reply_s=600.0, reply_bytes=64 * 1024)
"""The reply ends when the dump is written."""


def dump_heap(pid: int, file: Path) -> None:
    """Writes all objects on the heap of a JVM, also unreachable ones, to a file that its user may create.

    Raises EngineError if the JVM does not run, cannot be attached to, or cannot write the file.
    """
    reply = execute(pid, "dumpheap", (str(file), "-all"), _LIMITS)
    text = reply.text.lower()
    if not reply.succeeded or "failed" in text or "unable to create" in text:
        reason = single_line(reply.text.strip()) or "it gives no reason"
        raise EngineError(f"the JVM {pid} cannot write the heap dump {file}: {reason}")
