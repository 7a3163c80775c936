"""`pacenote install`: installs an engine that `pacenote start` starts."""

from __future__ import annotations

import argparse
import json

from pacenote.cli.console import Console
from pacenote.cli.options.installation import add_installation_options, new_installation
from pacenote.cli.options.unavailable import unavailable_options
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.parser import Parser
from pacenote.errors import Interrupted

UNAVAILABLE_OPTIONS = unavailable_options(("--source-build-method",))


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `install`, and those of an engine."""
    add_installation_options(parser)
    parser.add_argument("--installation-id", help="id of the installation (default: a new uuid)")


def run(options: argparse.Namespace, console: Console) -> int:
    """Installs the engine and prints the id of the installation as JSON. Raises PacenoteError."""
    # Imported here because --help does not need it.
    from pacenote.race.lifecycle import install

    new = new_installation(options)
    try:
        with progress_listener(console) as listener:
            state = install(new, listener.preparing)
    except KeyboardInterrupt as cause:
        raise Interrupted("interrupted; nothing was installed", hint="run the same command again") from cause
    console.result(json.dumps({"installation-id": state.id}, indent=2) + "\n")
    return 0
