"""`pacenote build`: builds an engine, and plugins of its repository, from their sources."""

from __future__ import annotations

import argparse

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.cars import add_team_options
from pacenote.cli.options.sources import add_source_build_options, engine_from_sources
from pacenote.cli.options.unavailable import unavailable_options
from pacenote.cli.output.progress import progress_listener
from pacenote.cli.parser import Parser
from pacenote.errors import Interrupted
from pacenote.model.output_text import json_text
from pacenote.race.engine_sources import build_requested
from pacenote.race.stop_signals import interrupting
from pacenote.sources.recipes import RECIPES
from pacenote.store.home import default_home

UNAVAILABLE_OPTIONS = unavailable_options(("--source-build-method", "--target-os", "--target-arch"))


def add_options(parser: Parser) -> None:
    """Adds Rally's options of `build`."""
    parser.add_argument(
        "--distribution",
        choices=tuple(RECIPES),
        metavar="NAME",
        help=f"engine to build: {' or '.join(RECIPES)} (default: that of the sources)",
    )
    add_source_build_options(parser)
    parser.add_argument(
        "--car", metavar="NAME,…", help="car of a team repository with commands to build with"
    )
    parser.add_argument(
        "--car-params", type=values.car_params, default="", help="parameters of the car: k:v,k2:v2 or JSON"
    )
    add_team_options(parser)
    parser.add_argument(
        "--elasticsearch-plugins",
        metavar="NAME,…",
        default="",
        help="plugins of the engine's repository to build, too",
    )
    parser.add_flag("--quiet", help="show no progress", harmless=True)
    parser.add_flag("--offline", help="fetch nothing", harmless=True)
    parser.set_defaults(maven_mirror=None)


def run(options: argparse.Namespace, console: Console) -> int:
    """Builds what the options name and prints the paths as JSON. Raises PacenoteError."""
    engine = engine_from_sources(options)
    with interrupting():
        try:
            with progress_listener(console) as listener:
                built = build_requested(engine, default_home(), listener.preparing, offline=options.offline)
        except KeyboardInterrupt as cause:
            raise Interrupted("interrupted", hint="run the same command again") from cause
    paths = {engine.distribution: str(built.archive)}
    paths |= {name: f"file://{path}" for name, path in built.plugins.items()}
    console.result(json_text(paths))
    return 0
