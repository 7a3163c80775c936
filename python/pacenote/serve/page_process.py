"""A process that makes pages for the server: one after the other, each within limits of processor time and
memory.

For each line of JSON in standard input, it writes a line with the kind and the size of its reply, and the
reply.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

from msgspec import Struct

from pacenote.errors import PacenoteError, StoreError
from pacenote.system.prctl import PR_SET_PDEATHSIG, prctl
from pacenote.units import format_bytes

ReplyKind = Literal["page", "missing", "problem", "defect"]
"""Kinds of replies: a page as HTML; a message with its hint as JSON, about something that cannot be read, or
about something else; the text of a defect.
"""

REPLY_KINDS: tuple[ReplyKind, ...] = get_args(ReplyKind)


class PageReply(Struct, frozen=True):
    """What a process says about a page."""

    kind: ReplyKind
    """What the content is."""

    content: bytes
    """A page as HTML, the JSON list of a message and its hint, or a text."""


MEMORY_BYTES = 4 << 30
"""Memory that a process may take: several times that of a page of the largest race."""


_MORE_MEMORY = (
    "if there is so much to show, `pacenote report`, `compare` and `trend` with `--html` may take more"
)


def answer_requests(make: Callable[[Mapping[str, Any]], str], memory_bytes: int = MEMORY_BYTES) -> None:
    """Answers requests until standard input ends, and writes what `make` returns for each of them.

    The kernel ends the process if a page takes more processor time than the request allows, and when the
    server ends. A page for which the process needs more memory is a problem. The process ends after it,
    and after a page that leaves it much memory in use: later ones would have less.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # What libraries print must not get into a reply.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # The process that ends at the limit leaves no core file.
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # Not that of the address space, of which libraries and threads reserve much more than they use.
    own_memory, own_time = (
        resource.getrlimit(which)[0] for which in (resource.RLIMIT_DATA, resource.RLIMIT_CPU)
    )
    memory_bytes = _set_limit_up_to(own_memory, resource.RLIMIT_DATA, memory_bytes)
    # It may not be possible to make one when there is no memory.
    out_of_memory = _out_of_memory(memory_bytes)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        # The kernel ends the process: what reads may hold the lock of the interpreter.
        end_s = math.ceil(time.process_time() + request["limit_s"])
        _set_limit_up_to(own_time, resource.RLIMIT_CPU, end_s)
        reply = _reply(make, request)
        try:
            _write(replies, reply or out_of_memory)
        except BrokenPipeError:  # The server has ended.
            os._exit(0)
        if reply is None or _memory_in_use() > memory_bytes // 2:
            os._exit(0)


def _set_limit_up_to(highest: int, which: int, limit: int) -> int:
    """Sets a limit of the process that is no higher than the one that it was started with, and returns it."""
    limit = limit if highest == resource.RLIM_INFINITY else min(limit, highest)
    resource.setrlimit(which, (limit, resource.getrlimit(which)[1]))
    return limit


def _memory_in_use() -> int:
    """Returns the bytes of the process that RLIMIT_DATA counts, with those of its stack."""
    pages = Path("/proc/self/statm").read_text().split()[5]
    return int(pages) * resource.getpagesize()


def _out_of_memory(memory_bytes: int) -> PageReply:
    text = f"this page needs more than {format_bytes(memory_bytes)} of memory: a file may be damaged"
    return PageReply("problem", json.dumps([text, _MORE_MEMORY]).encode())


def _reply(make: Callable[[Mapping[str, Any]], str], request: Mapping[str, Any]) -> PageReply | None:
    """Returns the reply to a request, or None if there is too little memory for its page."""
    try:
        return PageReply("page", make(request).encode())
    except PacenoteError as error:
        kind: ReplyKind = "missing" if isinstance(error, StoreError) else "problem"
        return PageReply(kind, json.dumps([error.message, error.hint]).encode())
    except MemoryError:
        return None
    except Exception as error:
        return PageReply("defect", f"{type(error).__name__}: {error}".encode(errors="replace"))


def _write(replies: BinaryIO, reply: PageReply) -> None:
    replies.write(f"{reply.kind} {len(reply.content)}\n".encode())
    replies.write(reply.content)
    replies.flush()
