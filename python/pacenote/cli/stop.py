"""`pacenote stop`: stops an engine that `pacenote start` started."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options.unavailable import unavailable_options
from pacenote.cli.parser import Parser
from pacenote.model.output_text import json_text
from pacenote.store.home import default_home

if TYPE_CHECKING:
    from pacenote.race.lifecycle import StoppedEngine

UNAVAILABLE_OPTIONS = unavailable_options(())


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `stop`."""
    parser.add_argument(
        "--installation-id", default="", help="the installation to stop (default: the one that runs)"
    )
    parser.add_flag(
        "--preserve-install", help="keep the installation and its data, to start it again", harmless=True
    )
    parser.add_flag("--skip-telemetry", help=argparse.SUPPRESS, harmless=True)
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the output (default: text)",
        harmless=True,
    )
    parser.add_flag("--quiet", help="no effect: there is no progress", harmless=True)


def run(options: argparse.Namespace, console: Console) -> int:
    """Stops the engine and prints what was stopped. Raises PacenoteError."""
    # Imported here because --help does not need it.
    from pacenote.race.lifecycle import stop_installation

    stopped = stop_installation(default_home(), options.installation_id, preserve=options.preserve_install)
    for problem in stopped.problems:
        console.warning(problem)
    console.result(_document(stopped) if options.format == "json" else _text(stopped))
    return 0


def _document(stopped: StoppedEngine) -> str:
    from pacenote.cli.output.node_text import node_document

    return json_text({
        "installation-id": stopped.installation_id,
        "stopped": [node_document(entry) for entry in stopped.nodes],
        "removed": stopped.removed,
    })


def _text(stopped: StoppedEngine) -> str:
    from pacenote.cli.output.node_text import engine_name, node_document

    lines = [
        f"{node_document(entry).get('name', entry.id)} ({engine_name(entry)}) was stopped.\n"
        for entry in stopped.nodes
    ] or ["No engine of the installation ran.\n"]
    end = "was removed" if stopped.removed else "and its data are kept"
    return "".join((*lines, f"Installation {stopped.installation_id} {end}.\n"))
