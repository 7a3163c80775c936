"""`pacenote serve`: shows the stored races in a browser, until it is stopped."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore, check_home

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

DEFAULT_PORT = 7223
"""The port: below those that the kernel gives to connections, which a race may use up."""

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
        default="127.0.0.1",
        help="address of this machine to listen on, 127.0.0.1 or ::1 (default: 127.0.0.1)",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Answers requests until Ctrl-C, and returns 0. Raises PacenoteError if it cannot listen."""
    import asyncio

    # Warnings need it, also when no further file can be opened.
    import pacenote.cli.program  # noqa: F401
    from pacenote.race.stop_signals import handled_signals
    from pacenote.serve.server import ServeOptions, serve

    store = RaceStore()
    check_home(store.home)

    def announce(address: str) -> None:
        console.result(f"{address}\n")
        console.progress(
            f"shows the races in {store.races} to everyone who has this address; Ctrl-C stops it"
        )

    asked = ServeOptions(options.host, options.port, announce, console.warning, handled_signals())
    asyncio.run(serve(store, _PageMaker(store), asked))
    return 0


class _PageMaker:
    """Makes the pages that `--html` of `pacenote report`, `compare` and `trend` writes."""

    def __init__(self, store: RaceStore) -> None:
        self._store = store

    def race(self, folder: RaceFolder) -> str:
        from pacenote.cli.output.race_page import page_text

        return page_text(folder.read(), folder, None, is_running=folder.is_in_use())

    def comparison(self, baseline: Sequence[RaceFolder], contender: Sequence[RaceFolder]) -> str:
        from pacenote.cli.compare import comparison_page

        sides = ([folder.path.name for folder in side] for side in (baseline, contender))
        return comparison_page(self._store, *sides)

    def trend(self, folder: RaceFolder) -> str:
        from pacenote.cli.trend import trend_page

        return trend_page(self._store, folder.path.name)


def _port(text: str) -> int:
    return 0 if text.strip() == "0" else values.port(text)


def _host(text: str) -> str:
    host = _HOSTS.get(text.strip().lower())
    if host is None:
        raise UsageError(
            f"--host={text} is not an address of this machine alone, such as 127.0.0.1 or ::1",
            hint="on another machine, `ssh -L 7223:127.0.0.1:7223 HOST` forwards the port",
        )
    return host
