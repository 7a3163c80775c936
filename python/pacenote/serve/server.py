"""The server: one socket of this machine, until the process is to end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web
from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.errors import PacenoteError
from pacenote.model.messages import DEFECT
from pacenote.serve.access import FIXED, TOKEN, Access, new_address
from pacenote.serve.guard import RequestGuard
from pacenote.serve.handlers import Handlers
from pacenote.serve.live_updates import INTERVAL_S, LiveUpdates
from pacenote.serve.page_maker import PageMaker, Reports
from pacenote.store.race_store import RaceStore

_BODY_BYTES = 64 << 10
"""Largest body of a request."""

_SHUTDOWN_S = 1.0
"""Seconds that responses have to end when the server does."""


_MOST_FILES = 65_536
"""Largest number of files, connections included, that the server opens at a time."""

_MOST_WARNED = 100
"""Number of different problems that are reported."""


class ServeOptions(Struct, frozen=True):
    """Where the server listens, and what it tells its caller."""

    host: str
    """Address of this machine, `127.0.0.1` or `::1`; empty for a new one at each start."""

    port: int
    """Its port; 0 for one that is free."""

    ready: Callable[[str], None]
    """Receives the address with the token when requests are answered."""

    warn: Callable[[str], None]
    """Receives a line about a defect."""

    signals: Sequence[signal.Signals] = ()
    """The signals that end the server; only the main thread may have some."""

    live_interval_s: float = INTERVAL_S
    """Seconds between two readings of a running race."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends the server when it is set in its event loop."""


async def serve(store: RaceStore, maker: PageMaker, options: ServeOptions) -> None:
    """Answers requests until the server is to end, and closes the maker of pages. Raises PacenoteError if it
    cannot listen.
    """
    _allow_more_connections()
    with _listening_socket(options) as listener:
        await _answer(store, maker, options, listener)


async def _answer(store: RaceStore, maker: PageMaker, options: ServeOptions, listener: socket.socket) -> None:
    access = Access(listener.getsockname()[0])
    updates = LiveUpdates(options.live_interval_s)
    application = web.Application(client_max_size=_BODY_BYTES)
    RequestGuard(access, options.warn).protect(application)
    Handlers(store, access, Reports(maker), updates).add_routes(application)
    # Its lines would contain addresses, and malformed requests.
    silent = logging.getLogger("pacenote.serve")
    silent.disabled = True
    runner = web.AppRunner(
        application,
        access_log=None,
        logger=silent,
        shutdown_timeout=_SHUTDOWN_S,
        # A page is not made for a browser that has left.
        handler_cancellation=True,
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(LoopProblems(options.warn))
        for number in options.signals:
            loop.add_signal_handler(number, options.stop.set)
        options.ready(_address(listener, access))
        await options.stop.wait()
    finally:
        updates.stop()
        await maker.close()
        await runner.cleanup()


class LoopProblems:
    """Handles what fails outside of requests: one line for each kind. Other users of this machine can open
    connections until the process has no file left, and asyncio prints a stack trace for each of them.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        """`warn` receives the lines."""
        self._warn = warn
        self._warned: set[str] = set()

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        """Takes what asyncio says about a problem."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            text = "too many connections are open: pages are shown again when some are closed"
        else:
            text = f"{DEFECT}: {type(error).__name__}: {error}" if error else str(context.get("message"))
        if text not in self._warned and len(self._warned) < _MOST_WARNED:
            # Without files, what the line needs cannot be imported either: the next problem says it.
            with contextlib.suppress(OSError):
                self._warn(text)
                self._warned.add(text)


def _allow_more_connections() -> None:
    """Raises the limit of open files as far as the process may: other users of this machine can open
    connections, too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listening_socket(options: ServeOptions) -> socket.socket:
    """Returns a socket that listens. Raises PacenoteError."""
    if options.host:
        return _listener(options)
    try:
        return _listener(replace(options, host=new_address()))
    except PacenoteError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno != errno.EADDRNOTAVAIL:
            raise
    options.warn(
        f"this system has no other address than {FIXED} for itself: what another user's server has left in "
        "the browser for that address, as a worker, can read the pages"
    )
    return _listener(replace(options, host=FIXED))


def _listener(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
        listener.listen()
    except OSError as error:
        listener.close()
        where = f"port {options.port} of {options.host}"
        if error.errno == errno.EADDRINUSE:
            raise PacenoteError(
                f"{where} is in use", hint="choose another with --port=N, or --port=0 for one that is free"
            ) from error
        raise PacenoteError(
            f"cannot listen on {where}: {error.strerror}", hint="choose another with --port=N or --host"
        ) from error
    return listener


def _address(listener: socket.socket, access: Access) -> str:
    host, port, *_ = listener.getsockname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}{access.root}?{TOKEN}={access.token}"
