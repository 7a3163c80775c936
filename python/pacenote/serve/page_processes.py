"""Makes pages in processes of their own, which end with the server, at a limit, or when nobody waits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from pacenote.errors import PacenoteError, StoreError
from pacenote.serve.page_maker import PageDefect, PageRequest
from pacenote.serve.page_process import REPLY_KINDS, PageReply
from pacenote.units import format_seconds

LIMIT_S = 60.0
"""Seconds of processor time that a page may take."""

MAX_PROCESSES = 2
"""Pages that are made at a time: one that takes long must not keep all others waiting."""

_END_S = 2.0
"""Seconds for which the end of killed processes is waited for."""

_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}
"""Variables of the processes. For each thread, the OpenBLAS of NumPy and that of SciPy map memory when they
are imported, of which they use little but which the limit counts: with many processors, all that it allows.
"""


class _Unanswered(PacenoteError):
    """A process has ended before the first byte of its reply: perhaps before it was asked."""


class PageProcesses:
    """Makes pages. Processes are started when they are needed, and make one page after the other."""

    def __init__(self, command: Sequence[str], settings: Mapping[str, str], limit_s: float = LIMIT_S) -> None:
        """`command` starts a process that calls `answer_requests`; `settings` are added to each request."""
        self._command = command
        self._settings = settings
        self._limit_s = limit_s
        self._turns = asyncio.Semaphore(MAX_PROCESSES)
        self._processes: set[asyncio.subprocess.Process] = set()
        self._idle: list[asyncio.subprocess.Process] = []
        self._is_closed = False

    async def make(self, request: PageRequest) -> bytes:
        """Returns a page as HTML. Raises PacenoteError, and PageDefect.

        If the caller is cancelled, the process ends.
        """
        async with self._turns:
            reply = await self._reply(request)
        return _content(reply)

    async def _reply(self, request: PageRequest) -> PageReply:
        """Returns the reply of a process that waits for requests or, without one, of a new one."""
        if (waiting := self._waiting()) is not None:
            # The kernel may have killed it while it waited, which is not known here yet.
            with contextlib.suppress(_Unanswered):
                return await self._reply_of(waiting, request)
        return await self._reply_of(await self._started(), request)

    async def _reply_of(self, process: asyncio.subprocess.Process, request: PageRequest) -> PageReply:
        """Returns the reply of a process, which then waits for the next request."""
        try:
            reply = await self._asked(process, request)
        except BaseException:
            _kill(process)
            raise
        self._idle.append(process)
        return reply

    async def close(self) -> None:
        """Ends all processes, also those that make a page."""
        self._is_closed = True
        processes = tuple(self._processes)
        for process in processes:
            _kill(process)
        # One that waits for a disk may not end.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await asyncio.gather(*(process.wait() for process in processes))

    def _waiting(self) -> asyncio.subprocess.Process | None:
        """Returns a process that waits for requests, or None if there is none."""
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
        return None

    async def _started(self) -> asyncio.subprocess.Process:
        """Returns a new process. Raises PacenoteError."""
        self._check_open()
        self._processes = {process for process in self._processes if process.returncode is None}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, **_ENVIRONMENT},
                # Ctrl-C in the terminal reaches only the server.
                start_new_session=True,
            )
        except OSError as error:
            raise PacenoteError(f"no process can be started for the page: {error.strerror}") from error
        self._processes.add(process)
        return process

    def _check_open(self) -> None:
        if self._is_closed:
            raise PacenoteError("the server ends")

    async def _asked(self, process: asyncio.subprocess.Process, request: PageRequest) -> PageReply:
        """Returns the reply of a process. Raises PacenoteError if it ends instead."""
        # The server may have been ended while the process was started.
        self._check_open()
        line = json.dumps({**asdict(request), **self._settings, "limit_s": self._limit_s})
        assert process.stdin is not None  # both are pipes
        assert process.stdout is not None
        header = b""
        try:
            process.stdin.write(f"{line}\n".encode())
            await process.stdin.drain()
            header = await process.stdout.readuntil()
            kind, size = header.decode().split()
            content = await process.stdout.readexactly(int(size))
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            partial = error.partial if isinstance(error, asyncio.IncompleteReadError) else b""
            raise self._end(await process.wait(), has_begun=bool(header or partial)) from None
        (known,) = (one for one in REPLY_KINDS if one == kind)
        return PageReply(known, content)

    def _end(self, status: int, *, has_begun: bool) -> PacenoteError:
        """Returns why a process has ended without a whole reply, or within it. Raises PacenoteError if the
        server has ended.
        """
        self._check_open()
        if status == -signal.SIGXCPU:
            return PacenoteError(
                f"this page was stopped after {format_seconds(self._limit_s)} of processor time: a file may "
                "be damaged, or made to take long",
                hint="if there is so much to read, `pacenote report`, `compare` and `trend` with `--html` "
                "have more time",
            )
        how = f"signal {-status}" if status < 0 else f"status {status}"
        kind = PacenoteError if has_begun else _Unanswered
        return kind(
            f"the process that made this page has ended with {how}",
            hint="there may be too little memory, a file may be damaged, or Pacenote may have a defect",
        )


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()


def _content(reply: PageReply) -> bytes:
    """Returns the page of a reply. Raises PacenoteError and PageDefect."""
    if reply.kind == "page":
        return reply.content
    if reply.kind == "defect":
        raise PageDefect(reply.content.decode())
    message, hint = json.loads(reply.content)
    raise (StoreError if reply.kind == "missing" else PacenoteError)(message, hint=hint)
