"""`pacenote start`: starts an engine that keeps running after the command has ended."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options.engine import ENGINE_OPTIONS, is_given
from pacenote.cli.options.installation import add_installation_options, new_installation
from pacenote.cli.options.sources import SELECTING_SOURCES
from pacenote.cli.options.unavailable import unavailable_options
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.parser import Parser
from pacenote.errors import Interrupted, UsageError
from pacenote.model.output_text import json_text
from pacenote.model.shell_command import shell_command
from pacenote.race.stop_signals import interrupting
from pacenote.store.home import default_home

if TYPE_CHECKING:
    from pacenote.provision.node_registry import NodeEntry

UNAVAILABLE_OPTIONS = unavailable_options((
    "--source-build-method",
    *("--telemetry", "--telemetry-params"),
))

_OF_A_NEW_ONE = (*ENGINE_OPTIONS, *SELECTING_SOURCES, "http_port", "master_nodes", "seed_hosts")


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `start`, and those of `install`."""
    parser.add_argument(
        "--installation-id", help="start this installation (default: install an engine first)"
    )
    parser.add_argument("--race-id", help="the race that the engine is started for")
    add_installation_options(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="format of the output (default: text)",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Starts the engine, and prints its address and how to stop it. Raises PacenoteError."""
    # Imported here because --help does not need it.
    from pacenote.cli.output.node_text import client_options_line, node_document, started_line
    from pacenote.store.race_store import ID_HINT, is_race_id

    race_id = options.race_id or ""
    if race_id and not is_race_id(race_id):
        raise UsageError(f"--race-id cannot be '{race_id}'", hint=ID_HINT)
    with interrupting():
        try:
            nodes = _start(options, race_id, console)
        except KeyboardInterrupt as cause:
            raise Interrupted(
                "interrupted before the engine was ready; it does not run", hint="run the same command again"
            ) from cause
    installation_id = next((node.facts.installation_id for node in nodes if node.facts), "")
    if options.format == "json":
        document = {"installation-id": installation_id, "nodes": [node_document(node) for node in nodes]}
        console.result(json_text(document))
    else:
        console.result(
            "".join(f"{started_line(node)}\n" for node in nodes)
            + client_options_line(nodes[0])
            + f"Stop it with: {shell_command('pacenote', 'stop', f'--installation-id={installation_id}')}\n"
        )
    return 0


def _start(options: argparse.Namespace, race_id: str, console: Console) -> tuple[NodeEntry, ...]:
    from pacenote.race.lifecycle import InstalledStart, start_installed, start_new

    with progress_listener(console) as listener:
        if not options.installation_id:
            return start_new(new_installation(options), race_id, listener.preparing)
        given = list(_given(options))
        if given:
            raise UsageError(
                f"{given[0]} has no effect on an installation",
                hint="omit --installation-id to install an engine",
            )
        chosen = (options.installation_id, options.runtime_jdk, options.offline)
        return start_installed(InstalledStart(default_home(), *chosen), race_id, listener.preparing)


def _given(options: argparse.Namespace) -> Iterator[str]:
    """Yields the options of the command line that describe a new installation; configured ones are for those
    that are new.
    """
    for given in options.given.values():
        if given.is_configured or given.dest in ("preserve_install", "runtime_jdk"):
            continue
        if given.dest in _OF_A_NEW_ONE and is_given(options, given.dest):
            yield f"--{given.name}"
