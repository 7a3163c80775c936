"""`pacenote serve`: shows the stored races in a browser, until it is stopped."""

from __future__ import annotations

import argparse
import os
import sys

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.store.race_store import RaceStore, check_home

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

DEFAULT_PORT = 7223
"""The port: below those that the kernel gives to connections, which a race may use up."""

_END_S = 2.0
"""Seconds after which the process ends although a thread still reads a file."""

_HOSTS = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}


def add_options(parser: Parser) -> None:
    """Adds where the server listens."""
    parser.add_argument(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        metavar="N",
        help=f"port to listen on, or 0 for one that is free (default: {DEFAULT_PORT})",
    )
    parser.add_argument(
        "--host",
        type=_host,
        help="address of this machine to listen on, 127.0.0.1 or ::1 (default: a new one at each start)",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Answers requests until Ctrl-C, and returns 0. Raises PacenoteError if it cannot listen."""
    import asyncio
    import threading

    # Warnings need it, also when no further file can be opened.
    import pacenote.cli.program  # noqa: F401
    from pacenote.race.stop_signals import handled_signals
    from pacenote.serve.page_processes import PageProcesses
    from pacenote.serve.server import ServeOptions, serve

    store = RaceStore()
    check_home(store.home)

    def announce(address: str) -> None:
        console.result(f"{address}\n")
        console.progress(
            f"shows the races in {store.races} to everyone who has this address; Ctrl-C stops it"
        )

    asked = ServeOptions(options.host or "", options.port, announce, console.warning, handled_signals())
    # -P: a file of the current folder must not replace a module.
    command = (sys.executable, "-P", "-m", "pacenote.cli.page_process")
    settings = {"program": sys.argv[0], "home": str(store.home)}
    # Threads that read files may not end soon, and write nothing but notes.
    end = threading.Timer(_END_S, os._exit, (0,))
    end.daemon = True

    async def answer() -> None:
        await serve(store, PageProcesses(command, settings), asked)
        if options.owns_process:
            end.start()

    try:
        asyncio.run(answer())
    finally:
        end.cancel()
    return 0


def _port(text: str) -> int:
    return 0 if text.strip() == "0" else values.port(text)


def _host(text: str) -> str:
    host = _HOSTS.get(text.strip().lower())
    if host is None:
        raise UsageError(
            f"--host={text} is not an address of this machine alone, such as 127.0.0.1 or ::1",
            hint="on another machine, `ssh -L ADDRESS:7223:ADDRESS:7223 HOST` forwards the port of the "
            "printed address",
        )
    return host
